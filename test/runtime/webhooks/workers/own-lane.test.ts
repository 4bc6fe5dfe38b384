import { describe, expect, test } from "vitest";
import { deliveryMessage } from "../../../../runtime/webhooks/records/delivery-record.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import type { PartnerOverrides } from "../engine-fixture.ts";
import { advance, answered, compiled, pulled, quiet, storedAs } from "../memory-context.ts";
import { caseOf, hanging, itemOf, queuesOf, type Case } from "./own-lane-case.ts";

describe("a worker", () => {
  test.each<[string, PartnerOverrides, readonly string[]]>([
    ["pulls first attempts with all places", { delivery: { maxInFlight: 8 } }, ["consumer first 8"]],
    ["pulls nothing of a paused partner", { state: "Paused" }, []],
    ["pulls nothing of one that is held", { held: "unresolved" }, []],
    ["pulls nothing of one without a key", { signing: { scheme: "HmacV1", keys: [] } }, []],
  ])("%s", async (_sentence, overrides, expected) => {
    const it = await caseOf(overrides);
    expect([it.news(), queuesOf(it)]).toEqual([expected, expected.map(() => "first")]);
  });

  test("records and acknowledges what it sends", async () => {
    const it = await caseOf();
    it.news();
    await it.hand(5);
    expect(it.news()).toEqual(["POST", "record delivered", "ack 5"]);
  });

  test("gives retries a quarter of the places when there are any", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 8 } });
    it.partner.answer = () => answered(500);
    it.news();
    await it.hand(5);
    const next = "schedule did-5:0:2:0 after 5 in 1000: stored";
    expect(it.news()).toEqual([
      "POST",
      "record retry",
      "consumer retry 2",
      next,
      "ack 5",
      "consumer first 6",
      "consumer retry 2",
    ]);
    expect(queuesOf(it)).toEqual(["first", "retry"]);
  });

  test("tries again after a second when its consumer cannot be created", async () => {
    const it = await caseOf({}, ({ consumerErrors }) => consumerErrors.push(new Error("no"), new Error("no")));
    for (const expected of [[], []]) {
      expect(queuesOf(it)).toEqual(expected);
      await advance(it.clock, 999);
      expect(queuesOf(it)).toEqual([]);
      await advance(it.clock, 1);
    }
    expect([it.news(), queuesOf(it)]).toEqual([["consumer first 64"], ["first"]]);
  });

  test("never has more attempts under way than places, and requests no more messages", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 2 } });
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    expect(it.pulls[0]?.credit()).toBe(2);
    for (const seq of [5, 6, 7]) await it.hand(seq);
    expect(it.done.filter((line) => line === "POST")).toHaveLength(2);
    resolve(answered(200));
    await quiet();
    expect(it.done.filter((line) => line.startsWith("ack"))).toEqual(["ack 5", "ack 6", "ack 7"]);
  });

  test("releases messages that it may not send any more", async () => {
    const it = await caseOf();
    it.own.set(compiled("one", { state: "Paused" }), false);
    it.news();
    await it.hand(5);
    expect([it.news(), queuesOf(it)]).toEqual([["release 5"], []]);
  });

  test("does not pull after status 410 until the specification changes", async () => {
    const it = await caseOf();
    it.partner.answer = () => answered(410);
    await it.hand(5);
    expect(queuesOf(it)).toEqual([]);
    it.own.set(compiled("one", { timeoutMs: 2_001 }), true);
    await quiet();
    expect(queuesOf(it)).toEqual(["first"]);
  });

  test("stores an unreadable message as a dead letter", async () => {
    const it = await caseOf();
    it.news();
    it.pulls[0]?.onMessage(pulled(it.done, { subject: "t.dlv.x.y.z", headers: {} }));
    await quiet();
    expect(it.news()).toEqual(["letter: stored", "ack 5"]);
  });
});

describe("a worker whose pod stood still", () => {
  const handOne = async (it: Case, isHeld: () => boolean): Promise<void> => {
    const stored = storedAs(deliveryMessage(itemOf(it.one, 5), it.one.lane, Buffer.from("")));
    it.pulls[0]?.onMessage({ ...pulled(it.done, stored), isHeld });
    await quiet();
  };

  test("leaves a message that may be another pod's: no request, no acknowledgement, no return", async () => {
    const it = await caseOf();
    it.news();
    await handOne(it, () => false);
    expect([it.news(), it.own.worker.inFlight]).toEqual([[], 0]);
  });

  test("leaves one that was lost while it waited for a place", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 1 } });
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    let isHeld = true;
    await it.hand(4);
    await handOne(it, () => isHeld);
    it.news();
    isHeld = false;
    resolve(answered(200));
    await quiet();
    expect(it.news()).toEqual(["record delivered", "ack 4"]);
  });

  test("asks JetStream again for its consumers, and returns what it received before that", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 8 } });
    const heartbeat = Promise.withResolvers<void>();
    it.wait(heartbeat.promise);
    it.news();
    await it.hand(5);
    expect(it.news()).toEqual([]);
    it.wait(undefined);
    it.own.renew();
    it.own.set(it.one, true);
    heartbeat.resolve();
    await quiet();
    expect(it.news()).toEqual(["consumer first 8", "release 5"]);
  });
});

describe("a worker of a partner with a rate", () => {
  test("requests messages by its tokens, and again when tokens were added", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 64, rate: { perSecond: 100, burst: 3 } } });
    const [pull] = it.pulls;
    expect(pull?.credit()).toBe(3);
    for (const seq of [5, 6, 7]) await it.hand(seq);
    expect([pull?.credit(), pull?.topUps]).toEqual([0, 0]);
    await advance(it.clock, 29);
    expect(pull?.topUps).toBe(0);
    await advance(it.clock, 1);
    expect([pull?.topUps, pull?.credit()]).toEqual([1, 3]);
  });

  test("requests again after fifty milliseconds at most, for every rate", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 64, rate: { perSecond: 1, burst: 1 } } });
    await it.hand(5);
    expect(it.pulls[0]?.credit()).toBe(0);
    await advance(it.clock, 50);
    expect([it.pulls[0]?.topUps, it.clock.waiting]).toEqual([1, 0]);
  });
});

describe("a worker of a partner that fails", () => {
  const circuitBreaker = { failures: 2, openMs: 10_000, maxOpenMs: 40_000 };
  const retry = { scheduleSeconds: [600], maxAgeSeconds: 3_600, jitterPercent: 0 };

  async function failing(): Promise<Case> {
    const it = await caseOf({ circuitBreaker, retry, delivery: { maxInFlight: 8 } });
    it.partner.answer = () => answered(500);
    await it.hand(5);
    await it.hand(6);
    return it;
  }

  test("opens its circuit breaker at the last failure in a row: no pull, and paused consumers", async () => {
    const it = await failing();
    expect(queuesOf(it)).toEqual([]);
    expect(it.news()).toEqual(expect.arrayContaining(["pause first 10000", "pause retry 10000"]));
    await advance(it.clock, 9_999);
    expect([it.news(), queuesOf(it)]).toEqual([[], []]);
    await advance(it.clock, 1);
    expect(it.news()).toEqual(["pause first 0", "pause retry 0", "consumer first 1", "consumer retry 1"]);
    expect(queuesOf(it)).toEqual(["first"]);
    expect(it.pulls.at(-1)?.credit()).toBe(1);
  });

  test("stays open twice as long after a failed probe", async () => {
    const it = await failing();
    await advance(it.clock, 10_000);
    it.news();
    await it.hand(7);
    expect(it.news()).toEqual(expect.arrayContaining(["POST", "pause first 20000", "pause retry 20000"]));
    expect(queuesOf(it)).toEqual([]);
  });

  test("uses all places again after a successful probe", async () => {
    const it = await failing();
    it.partner.answer = () => answered(200);
    await advance(it.clock, 10_000);
    it.news();
    await it.hand(7);
    expect(it.news()).toEqual(["POST", "record delivered", "ack 7", "consumer first 6", "consumer retry 2"]);
    expect(queuesOf(it)).toEqual(["first", "retry"]);
  });

  test("probes with a waiting retry, checked every two seconds", async () => {
    const it = await failing();
    await advance(it.clock, 10_000);
    it.retries.set(it.one.lane, { messages: 1, settledSeq: 0, handedOut: 0, pausedMs: 0 });
    await advance(it.clock, 1_999);
    expect(queuesOf(it)).toEqual(["first"]);
    await advance(it.clock, 1);
    expect(queuesOf(it)).toEqual(["retry"]);
  });

  test("inherits the pause of the previous owner", async () => {
    const it = await caseOf({ circuitBreaker }, ({ retries }, lane) =>
      retries.set(lane, { messages: 0, settledSeq: 0, handedOut: 0, pausedMs: 3_000 }),
    );
    expect([it.news(), queuesOf(it)]).toEqual([
      ["consumer first 1", "consumer retry 1", "pause first 3000", "pause retry 3000"],
      [],
    ]);
    await advance(it.clock, 3_000);
    expect(queuesOf(it)).toEqual(["first"]);
  });
});

describe("a worker of a partner that responds 429 with a Retry-After", () => {
  const circuitBreaker = { failures: 5, openMs: 10_000, maxOpenMs: 40_000 };
  const retry = { scheduleSeconds: [600], maxAgeSeconds: 3_600, jitterPercent: 0 };
  const overrides = { circuitBreaker, retry, delivery: { maxInFlight: 8 } };
  const limited = (seconds: number): AttemptOutcome => {
    const headers = { "retry-after": String(seconds) };
    return { kind: "response", status: 429, headers, body: "", bodyTruncated: false, timings: { totalMs: 1 } };
  };

  test("sends nothing more until it has passed, then one probe, and keeps the longer wait of the delivery", async () => {
    const it = await caseOf(overrides);
    it.partner.answer = () => limited(15);
    await it.hand(5);
    expect(it.news()).toEqual(
      expect.arrayContaining(["pause first 15000", "schedule did-5:0:2:0 after 5 in 600000: stored"]),
    );
    await it.hand(6);
    expect(it.own.attemptDirectly(itemOf(it.one, 7), { body: Buffer.from("{}"), isHeld: () => true })).toBeUndefined();
    await advance(it.clock, 14_999);
    expect([it.news(), queuesOf(it)]).toEqual([["release 6"], []]);
    await advance(it.clock, 1);
    expect([queuesOf(it), it.pulls.at(-1)?.credit()]).toEqual([["first"], 1]);
    it.partner.answer = () => answered(200);
    it.news();
    await it.hand(8);
    expect(it.news()).toEqual(expect.arrayContaining(["POST", "ack 8", "consumer first 6"]));
    expect([it.holds.size, queuesOf(it)]).toEqual([0, ["first", "retry"]]);
  });

  test("lets attempts in flight end, and waits for the longest of their requests", async () => {
    const it = await caseOf(overrides);
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    await it.hand(5);
    it.partner.answer = () => limited(2);
    await it.hand(6);
    await advance(it.clock, 1_000);
    resolve(limited(15));
    await quiet();
    await advance(it.clock, 14_999);
    expect(queuesOf(it)).toEqual([]);
    await advance(it.clock, 1);
    expect(queuesOf(it)).toEqual(["first"]);
  });

  test("is paused for the longest pause of its breaker at most", async () => {
    const it = await caseOf(overrides);
    it.partner.answer = () => limited(3_600);
    await it.hand(5);
    expect(it.news()).toContain("pause first 40000");
  });

  test("sends nothing that waited for a token of its rate", async () => {
    const it = await caseOf({ ...overrides, delivery: { maxInFlight: 8, rate: { perSecond: 1, burst: 2 } } });
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    for (const seq of [5, 6, 7, 8]) await it.hand(seq);
    resolve(limited(15));
    await advance(it.clock, 10_000);
    expect(it.done.filter((line) => line === "POST")).toHaveLength(2);
  });

  test("sends nothing that waited for the rate that the endpoint granted", async () => {
    const it = await caseOf(overrides, ({ context }) =>
      Object.assign(context.validations, { of: async () => ({ perMinute: 60 }) }),
    );
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    for (const seq of [5, 6, 7]) await it.hand(seq);
    resolve(limited(15));
    await advance(it.clock, 10_000);
    expect(it.done.filter((line) => line === "POST")).toHaveLength(1);
  });

  test("is paused by a first attempt straight from its event", async () => {
    const it = await caseOf(overrides);
    it.partner.answer = () => limited(15);
    await expect(
      it.own.attemptDirectly(itemOf(it.one, 5), { body: Buffer.from("{}"), isHeld: () => true }),
    ).resolves.toBe(false);
    await quiet();
    expect(it.news()).toContain("pause first 15000");
    expect(queuesOf(it)).toEqual([]);
  });

  test("is paused by the 429 to a ping", async () => {
    const it = await caseOf(overrides);
    it.partner.answer = () => limited(15);
    const ping = { ...itemOf(it.one, 5), type: "heliograph.ping" };
    it.pulls[0]?.onMessage(pulled(it.done, storedAs(deliveryMessage(ping, it.one.lane, Buffer.from("")))));
    await quiet();
    expect(it.news()).toContain("pause first 15000");
  });

  test("inherits the pause of the previous owner, and forgets its own without the lane", async () => {
    const pause = { kind: "open", cause: "rate_limited", sinceMs: 0, restMs: 9_000, failures: 0 } as const;
    const it = await caseOf(overrides, ({ holds, clock }) =>
      holds.set(compiled("one", overrides).key, { ...pause, untilMs: clock.wallMs() + 9_000 }),
    );
    expect([it.news(), queuesOf(it)]).toEqual([["consumer first 1", "pause first 9000"], []]);
    expect(it.own.breakerOf()).toMatchObject({ cause: "rate_limited", sinceMs: 0 });
    it.own.set(it.one, false);
    it.holds.clear();
    it.own.set(it.one, true);
    await quiet();
    expect([it.own.breakerOf().kind, queuesOf(it)]).toEqual(["closed", ["first"]]);
  });

  test("is settled once its pause is stored, so that the next owner finds it", async () => {
    const stored = Promise.withResolvers<undefined>();
    const it = await caseOf(overrides, ({ context }) => Object.assign(context.holds, { kept: () => stored.promise }));
    it.partner.answer = () => limited(15);
    await it.hand(5);
    const isSettled = (): boolean => it.done.some((line) => line.startsWith("schedule"));
    expect([it.done.includes("record retry"), isSettled()]).toEqual([true, false]);
    stored.resolve(undefined);
    await quiet();
    expect(isSettled()).toBe(true);
  });

  test("is paused by what another pod finds, for the longer of two pauses", async () => {
    const it = await caseOf(overrides);
    const startMs = it.clock.wallMs();
    const found = (ms: number) =>
      ({
        kind: "open",
        cause: "rate_limited",
        sinceMs: startMs,
        untilMs: startMs + ms,
        restMs: ms,
        failures: 0,
      }) as const;
    it.own.learn(it.one, found(9_000));
    it.own.learn(it.one, found(2_000));
    await quiet();
    expect([it.news().slice(-2), queuesOf(it)]).toEqual([["consumer first 1", "pause first 9000"], []]);
    // What the other pod stored last is replaced.
    expect(it.holds.get(it.one.key)).toMatchObject({ untilMs: startMs + 9_000 });
    it.own.learn(it.one, found(-1));
    await advance(it.clock, 9_000);
    expect(queuesOf(it)).toEqual(["first"]);
  });

  test("leaves its pause to the next owner of the lane, and its failures to nobody", async () => {
    const it = await caseOf({ ...overrides, circuitBreaker: { ...circuitBreaker, failures: 1 } });
    const [first, second] = [hanging(), hanging()];
    it.partner.answer = first.answer;
    await it.hand(5);
    it.partner.answer = second.answer;
    await it.hand(6);
    it.own.set(it.one, false);
    first.resolve(answered(500));
    await quiet();
    expect(it.holds.size).toBe(0);
    second.resolve(limited(15));
    await quiet();
    expect(it.holds.get(it.one.key)).toMatchObject({ cause: "rate_limited", restMs: 15_000 });
    expect(it.own.breakerOf().kind).toBe("closed");
  });
});

describe("a first attempt straight from its event", () => {
  const event = { body: Buffer.from('{"event_id":"e-1"}'), isHeld: () => true };
  const attempt = (it: Case, seq = 5) => it.own.attemptDirectly(itemOf(it.one, seq), event);
  const failing = { retry: { scheduleSeconds: [600], maxAgeSeconds: 3_600, jitterPercent: 0 } };

  test("is recorded and leaves nothing stored", async () => {
    const it = await caseOf();
    it.news();
    await expect(attempt(it)).resolves.toBe(true);
    expect(it.news()).toEqual(["POST", "record delivered"]);
  });

  test("that fails is only recorded, and the next ones are stored until one succeeds", async () => {
    const it = await caseOf(failing);
    it.news();
    it.partner.answer = () => answered(500);
    await expect(attempt(it)).resolves.toBe(false);
    expect(it.news()).toEqual(["POST", "record retry"]);
    expect(attempt(it, 6)).toBeUndefined();
    it.partner.answer = () => answered(200);
    await it.hand(6);
    await expect(attempt(it, 7)).resolves.toBe(true);
  });

  test("is not made while attempts of the previous owner may be under way, whose places stay free", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 8 } }, undefined, 0);
    expect([it.news(), attempt(it)]).toEqual([["consumer first 5"], undefined]);
    await it.beat(6_999);
    expect([it.news(), attempt(it)]).toEqual([[], undefined]);
    await advance(it.clock, 1);
    expect(it.news()).toEqual([]);
    await it.beat(0);
    expect([it.news(), attempt(it)]).toEqual([["consumer first 8"], undefined]);
    await it.beat(500);
    await expect(attempt(it)).resolves.toBe(true);
    it.own.set(it.one, false, false);
    it.own.set(it.one, true, true);
    expect(attempt(it)).toBeUndefined();
  });

  test.each([
    ["at once in a pod that was always alone", 7_000, 0],
    ["once attempts of a pod that was gone for a while have ended", 3_000, 4_000],
  ])("is made %s", async (_sentence, headStartMs, leftMs) => {
    const it = await caseOf({ delivery: { maxInFlight: 8 } }, undefined, headStartMs);
    await it.beat(Math.max(0, leftMs - 1));
    const early = leftMs > 0 ? attempt(it) : undefined;
    expect(early).toBeUndefined();
    await it.beat(1);
    expect(it.news().at(-1)).toBe("consumer first 8");
    await it.beat(500);
    await expect(attempt(it)).resolves.toBe(true);
  });

  test("is made once the heartbeats of other pods name nothing that is under way", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 8 } }, undefined, 0);
    await it.beat(0);
    it.beats.othersEndMs = () => 0;
    await it.beat(0);
    expect(it.news()).toEqual(["consumer first 5", "consumer first 8"]);
    await it.beat(500);
    await expect(attempt(it)).resolves.toBe(true);
  });

  test("is not made before a heartbeat of this pod names its partner", async () => {
    const it = await caseOf();
    it.beats.isNamed = false;
    expect(attempt(it)).toBeUndefined();
  });

  test("waits for the longest attempt of the previous owner and five seconds by itself", async () => {
    const it = await caseOf({ timeoutMs: 2_000 }, undefined, 0);
    await it.beat(6_999);
    expect(attempt(it)).toBeUndefined();
    await it.beat(1);
    await it.beat(500);
    await expect(attempt(it)).resolves.toBe(true);
  });

  test("is not made while the partner is paused, which the lane outlives", async () => {
    const it = await caseOf();
    it.own.set(compiled("one", { state: "Paused" }), false, true);
    expect(attempt(it)).toBeUndefined();
    it.own.set(it.one, true, true);
    await quiet();
    await expect(attempt(it)).resolves.toBe(true);
  });

  test.each<[string, PartnerOverrides]>([
    ["of a partner with a rate", { delivery: { maxInFlight: 64, rate: { perSecond: 100, burst: 3 } } }],
    ["of one that takes few attempts at once", { delivery: { maxInFlight: 2 } }],
    ["of one without a key", { signing: { scheme: "HmacV1", keys: [] } }],
  ])("is not made to an endpoint %s", async (_sentence, overrides) => {
    expect(attempt(await caseOf(overrides))).toBeUndefined();
  });

  test("is not made while the circuit breaker is open", async () => {
    const it = await caseOf({ ...failing, circuitBreaker: { failures: 1, openMs: 10_000, maxOpenMs: 40_000 } });
    it.partner.answer = () => answered(500);
    await it.hand(5);
    it.own.observe({ health: "healthy" }, 1, {});
    expect(attempt(it, 6)).toBeUndefined();
  });

  test("is not made after status 410", async () => {
    const it = await caseOf();
    it.partner.answer = () => answered(410);
    await it.hand(5);
    it.own.observe({ health: "healthy" }, 1, {});
    expect(attempt(it, 6)).toBeUndefined();
  });

  test("is not made while a dead letter cannot be stored", async () => {
    const it = await caseOf();
    it.own.block(true);
    expect(attempt(it)).toBeUndefined();
    it.own.block(false);
    await quiet();
    await expect(attempt(it)).resolves.toBe(true);
  });

  test("is not made while stored deliveries wait", async () => {
    const it = await caseOf();
    const hand = async (seq: number, waiting: number): Promise<void> => {
      const message = storedAs(deliveryMessage(itemOf(it.one, seq), it.one.lane, Buffer.from("")));
      it.pulls[0]?.onMessage({ ...pulled(it.done, message, 1, seq), waiting });
      await quiet();
    };
    await hand(5, 1);
    expect(attempt(it, 6)).toBeUndefined();
    await hand(7, 0);
    await expect(attempt(it, 8)).resolves.toBe(true);
  });

  test("takes at most half of the places of first attempts at once", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 16 } });
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    const attempts = [5, 6, 7, 8, 9, 10, 11].map((seq) => attempt(it, seq));
    expect(attempts[6]).toBeUndefined();
    resolve(answered(200));
    const made = attempts.filter((one) => one !== undefined);
    await expect(Promise.all(made)).resolves.toEqual(Array.from({ length: 6 }, () => true));
  });

  test("takes a place from the stored ones, and none when all are taken", async () => {
    const it = await caseOf({ delivery: { maxInFlight: 8 } });
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    const direct = attempt(it, 5);
    for (let seq = 6; seq <= 13; seq += 1) await it.hand(seq);
    expect(it.done.filter((line) => line === "POST")).toHaveLength(8);
    resolve(answered(200));
    await expect(direct).resolves.toBe(true);
    await quiet();
    it.partner.answer = hanging().answer;
    for (let seq = 14; seq <= 21; seq += 1) await it.hand(seq);
    expect(attempt(it, 22)).toBeUndefined();
  });

  test("keeps messages here that another pod would send at once, until it ends", async () => {
    const it = await caseOf();
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    const direct = attempt(it, 5);
    await quiet();
    it.own.set(it.one, false);
    it.news();
    await it.hand(6);
    expect(it.news()).toEqual([]);
    resolve(answered(200));
    await direct;
    await quiet();
    expect(it.news()).toEqual(["record delivered", "release 6"]);
  });

  test("is not made while an earlier one takes long, nor after one that did", async () => {
    const it = await caseOf();
    const { answer, resolve } = hanging();
    it.partner.answer = answer;
    const first = attempt(it, 5);
    await advance(it.clock, 249);
    const second = attempt(it, 6);
    expect(second).toBeDefined();
    await advance(it.clock, 1);
    expect(attempt(it, 7)).toBeUndefined();
    resolve({ ...answered(200), timings: { totalMs: 250 } });
    await Promise.all([first, second]);
    expect(attempt(it, 8)).toBeUndefined();
  });

  test("whose partner changes before the POST sends nothing", async () => {
    const it = await caseOf();
    it.news();
    const direct = attempt(it);
    it.own.set(compiled("one", { state: "Paused" }), false, true);
    await expect(direct).resolves.toBe(false);
    expect(it.news()).toEqual([]);
  });

  test("that throws is told of, and frees its place", async () => {
    const it = await caseOf();
    it.partner.answer = () => {
      throw new Error("no socket");
    };
    await expect(attempt(it)).resolves.toBe(false);
    expect(it.lines.map(({ message }) => message)).toContain("attempt failed");
    it.partner.answer = () => answered(200);
    await expect(attempt(it, 6)).resolves.toBe(true);
  });
});

test("a worker that stops waits for its attempts", async () => {
  const it = await caseOf();
  const { answer, resolve } = hanging();
  it.partner.answer = answer;
  await it.hand(5);
  let isOver = false;
  void it.own.worker.stop(60_000).then(() => (isOver = true));
  await quiet();
  expect([isOver, it.own.worker.inFlight, queuesOf(it)]).toEqual([false, 1, []]);
  resolve(answered(200));
  await quiet();
  expect([isOver, it.own.worker.inFlight]).toEqual([true, 0]);
});
