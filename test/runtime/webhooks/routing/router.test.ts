import { describe, expect, test } from "vitest";
import type { Lanes } from "../../../../runtime/webhooks/workers/lane-workers.ts";
import { attemptRecord } from "../../../../runtime/webhooks/records/attempt-records.ts";
import type { Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";
import { deliveryMessage } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { deliveryId } from "../../../../runtime/webhooks/ids.ts";
import type { Partner } from "../../../../runtime/webhooks/partners/partner.ts";
import { createRouter, type Router } from "../../../../runtime/webhooks/routing/router.ts";
import { createRoutingTable } from "../../../../runtime/webhooks/partners/configured-partners.ts";
import {
  advance,
  answered,
  compiled,
  duplicate,
  firstAttempt,
  memoryContext,
  pulled,
  quiet,
  refused,
  storedAs,
  unexpected,
  type MemoryContext,
} from "../memory-context.ts";

const [one, two] = [compiled("one"), compiled("two")] as const;
const idOf = ({ config }: Partner): string => deliveryId("acme", "e-1", config.uid);
const event = { subject: "t.evt.acme.hash", headers: { "Hg-Event": "e-1", "Hg-Type": "payout.processed" } };

/** A router that has begun to pull and has routed enough to believe what the server counts. */
async function started(
  memory: MemoryContext,
  partners: readonly Partner[],
  attemptDirectly: Lanes["attemptDirectly"] = () => undefined,
): Promise<Router> {
  const router = createRouter(memory.context, { attemptDirectly });
  router.use(createRoutingTable([]));
  await router.start();
  // Everything is looked up until more than can be in flight has left no trace.
  for (let seq = 1_000; seq <= 1_256; seq += 1) memory.pulls[0]?.onMessage(pulled([], event, 1, seq));
  await quiet();
  router.use(createRoutingTable(partners));
  memory.done.length = 0;
  return router;
}

async function route(memory: MemoryContext, deliveryCount = 1): Promise<void> {
  memory.pulls[0]?.onMessage(pulled(memory.done, event, deliveryCount));
  await quiet();
}

/** A live message of the delivery to a partner. */
function liveOf(partner: Partner) {
  const delivery = firstAttempt(partner.key, idOf(partner));
  return storedAs(deliveryMessage(delivery, "x", Buffer.from("")));
}

describe("an event", () => {
  test("becomes one delivery for each partner and is acknowledged after the last", async () => {
    const memory = memoryContext();
    await started(memory, [one, two]);
    await route(memory);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: stored`, `first ${idOf(two)}:0:1:0: stored`, "ack 5"]);
  });

  test("that may be another router's is left alone, at its start and after each wait", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    const left: boolean[] = [];
    const isHeld = (): boolean => left.shift() ?? false;
    for (const held of [[], [true]]) {
      left.push(...held);
      memory.pulls[0]?.onMessage({ ...pulled(memory.done, event), isHeld });
      await quiet();
      expect(memory.done).toEqual([]);
    }
  });

  test("without a subscriber leaves a note and no delivery", async () => {
    const memory = memoryContext();
    await started(memory, []);
    await route(memory);
    expect(memory.done).toEqual(["record routed", "ack 5"]);
  });

  test("is stored with the configuration that routed it, for each partner with its generation", async () => {
    const memory = memoryContext();
    const router = await started(memory, []);
    router.use(createRoutingTable([one, two], "00112233445566778899"));
    await route(memory);
    const routedBy = memory.stored.map(({ headers }) => headers["Hg-Routed"]);
    expect(routedBy).toEqual(Array.from({ length: 2 }, () => `c=0011223344556677;g=${one.config.generation}`));
  });

  test("whose delivery is refused is stored again after growing pauses, and acknowledged only then", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.answers.publishFirst.push(refused, refused, refused);
    await route(memory);
    const tries = (): number => memory.done.filter((line) => line.endsWith("rejected")).length;
    for (const [pauseMs, before] of [
      [50, 1],
      [100, 2],
      [200, 3],
    ] as const) {
      await advance(memory.clock, pauseMs - 1);
      expect([tries(), memory.done.includes("ack 5")]).toEqual([before, false]);
      await advance(memory.clock, 1);
    }
    expect(memory.done.slice(-2)).toEqual([`first ${idOf(one)}:0:1:0: stored`, "ack 5"]);
  });

  test("whose delivery is stored is not stored again", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.answers.publishFirst.push(unexpected);
    memory.past.live = [liveOf(one)];
    await route(memory);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: unexpected`, "ack 5"]);
  });

  test("whose delivery id was used by a lost message gets the next id", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.answers.publishFirst.push(duplicate);
    await route(memory);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: duplicate`, `first ${idOf(one)}:0:1:1: stored`, "ack 5"]);
  });

  test("that is redelivered is looked up first", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.past.live = [liveOf(one)];
    await route(memory, 2);
    expect(memory.done).toEqual(["ack 5"]);
  });

  test("is not acknowledged when the process ends while its delivery is refused", async () => {
    const memory = memoryContext();
    const router = await started(memory, [one]);
    memory.answers.publishFirst.push(refused);
    await route(memory);
    memory.ending.abort(new Error("ends"));
    await quiet();
    await router.stop(0);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: rejected`]);
    expect(memory.clock.waiting).toBe(0);
  });

  test("that takes long has its acknowledgement wait extended", async () => {
    const memory = memoryContext();
    const router = await started(memory, [one]);
    memory.answers.publishFirst.push(...Array.from({ length: 9 }, () => refused));
    await route(memory);
    router.keepAlive();
    expect(memory.done).not.toContain("working 5");
    await advance(memory.clock, 251);
    router.keepAlive();
    expect(memory.done).toContain("working 5");
  });
});

describe("an event whose partner takes first attempts directly", () => {
  /** Tells of each direct attempt, which ends as the test says. */
  const direct =
    (memory: MemoryContext, end: Promise<boolean> | boolean = true): Lanes["attemptDirectly"] =>
    async ({ did, hop }) => (memory.done.push(`direct ${did} ${hop}`), end);
  const recordOf = (partner: Partner, settlement: Settlement, isDirect = true, routedBy?: string) => {
    const delivery = { ...firstAttempt(partner.key, idOf(partner)), ...(routedBy && { routedBy }) };
    const made = { delivery, partner, startedAtMs: 0, outcome: answered(500), settlement, pod: "pod-0" };
    const text = JSON.stringify(attemptRecord({ ...made, ...(isDirect && { direct: true }) }));
    return { ...storedAs(deliveryMessage(delivery, "x", Buffer.from(""))), data: Buffer.from(text) };
  };
  const retry: Settlement = { kind: "retry", reason: "status_500", atMs: 0 };

  test("is acknowledged after the attempt, and its delivery is not stored", async () => {
    const memory = memoryContext();
    const end = Promise.withResolvers<boolean>();
    await started(memory, [one], direct(memory, end.promise));
    await route(memory);
    expect(memory.done).toEqual([`direct ${idOf(one)} 0`]);
    end.resolve(true);
    await quiet();
    expect(memory.done).toEqual([`direct ${idOf(one)} 0`, "ack 5"]);
  });

  test("is stored with the next hop after an attempt that was no success", async () => {
    const memory = memoryContext();
    await started(memory, [one], direct(memory, false));
    await route(memory);
    expect(memory.done).toEqual([`direct ${idOf(one)} 0`, `first ${idOf(one)}:0:1:1: stored`, "ack 5"]);
  });

  test("does not keep the delivery to another partner from being stored", async () => {
    const memory = memoryContext();
    const end = Promise.withResolvers<boolean>();
    await started(memory, [one, two], (delivery, body) =>
      delivery.did === idOf(one) ? direct(memory, end.promise)(delivery, body) : undefined,
    );
    await route(memory);
    expect(memory.done).toEqual([`direct ${idOf(one)} 0`, `first ${idOf(two)}:0:1:0: stored`]);
    end.resolve(true);
    await quiet();
    expect(memory.done.at(-1)).toBe("ack 5");
  });

  test("is stored when it is redelivered, under the id that an earlier router may use later", async () => {
    const memory = memoryContext();
    await started(memory, [one], direct(memory));
    await route(memory, 2);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: stored`, "ack 5"]);
  });

  test("ends without an attempt when it is redelivered and the partner's backlog is full", async () => {
    const memory = memoryContext();
    const context = { ...memory.context, backlogs: { isFull: () => true } };
    await started({ ...memory, context }, [one], direct(memory));
    await route(memory, 2);
    expect(memory.done).toEqual(["letter: stored", "record dead", "ack 5"]);
  });

  test("is stored when the partner's backlog is full", async () => {
    const memory = memoryContext();
    const context = { ...memory.context, backlogs: { isFull: () => true } };
    await started({ ...memory, context }, [one], direct(memory));
    await route(memory);
    expect(memory.done).toEqual(["letter: stored", "record dead", "ack 5"]);
  });

  test.each<[string, Settlement, boolean, readonly string[]]>([
    ["a success needs nothing more", { kind: "delivered" }, true, []],
    ["a failure is stored with the next hop, for its worker", retry, true, [`first ${idOf(one)}:0:1:1: stored`]],
    [
      "a final failure too, for its dead letter",
      { kind: "rejected", reason: "status_400" },
      true,
      [`first ${idOf(one)}:0:1:1: stored`],
    ],
    ["a failure of a stored delivery is its worker's", retry, false, []],
  ])("after a crash behind the record: %s", async (_sentence, settlement, isDirect, expected) => {
    const memory = memoryContext();
    await started(memory, [one], direct(memory));
    memory.past.attempts = [recordOf(one, settlement, isDirect)];
    await route(memory, 2);
    expect(memory.done).toEqual([...expected, "ack 5"]);
  });

  test("after a crash behind the record, keeps the configuration of the first routing", async () => {
    const memory = memoryContext();
    const router = await started(memory, [one], direct(memory));
    router.use(createRoutingTable([one], "ffff"));
    memory.past.attempts = [recordOf(one, retry, true, "c=0a;g=3;e=later")];
    await route(memory, 2);
    expect(memory.stored.map(({ headers }) => headers["Hg-Routed"])).toEqual(["c=0a;g=3;e=later"]);
  });

  test.each<[string, readonly Partner[]]>([
    ["that does not subscribe any more", [one]],
    ["that was removed", []],
  ])("after a crash behind the record, stores the delivery of a partner %s", async (_sentence, partners) => {
    const memory = memoryContext();
    const context = { ...memory.context, partners: () => partners };
    await started({ ...memory, context }, [two], direct(memory));
    memory.past.attempts = [recordOf(one, retry)];
    await route(memory, 2);
    expect(memory.done).toEqual([`first ${idOf(two)}:0:1:0: stored`, `first ${idOf(one)}:0:1:1: stored`, "ack 5"]);
    expect(memory.stored.map(({ lane, partner }) => [lane, partner])).toEqual([
      [two.lane, two.key],
      [one.key, one.key],
    ]);
  });

  test("of a lost consumer goes on where the record ends", async () => {
    const memory = memoryContext();
    const router = await started(memory, [one], direct(memory));
    memory.past.attempts = [recordOf(one, retry)];
    const stored = { ...firstAttempt("", ""), seq: 5, nonce: "n", body: Buffer.from("{}") };
    await router.recover(stored);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:1: stored`]);
  });
});

test("a held router requests no messages and requests them at once after the hold", async () => {
  const memory = memoryContext();
  const router = await started(memory, [one]);
  const [pull] = memory.pulls;
  expect(pull?.credit()).toBe(128);
  router.hold(true);
  expect([pull?.credit(), pull?.topUps]).toEqual([0, 1]);
  router.hold(false);
  expect([pull?.credit(), pull?.topUps]).toEqual([128, 2]);
  await router.stop(0);
  expect(memory.running()).toEqual([]);
});
