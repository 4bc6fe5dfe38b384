import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import type { WebhookEngineDeps } from "../../../runtime/webhooks/engine-context.ts";
import { ownerOf } from "../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { stallMsMax, waitFor } from "../../support/wait.ts";
import type { WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { type Cleanup, engineCase, type EngineCase, partnerServer, untilEmpty } from "./engine-cases.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf, type TestEngine } from "./engine-fixture.ts";
import { sendDirectly } from "./fault-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 30_000;

const caseOf = (
  context: Cleanup,
  config: RuntimeConfig,
  overrides: Partial<WebhookEngineDeps> = {},
): Promise<EngineCase> => engineCase(server.url, context, config, overrides);

const idsOf = (length: number): readonly string[] => Array.from({ length }, (_, index) => `e-${index}`);

async function consumerOf({ nats, layout }: EngineCase, queue: "first" | "retry", uid: string) {
  return await nats.manager.consumers.info(layout.streams.deliveries, `${queue}-${partnerKey(uid)}`);
}

describe.concurrent("a partner with a rate", () => {
  test("gets its burst at once and then no more than its rate, retries included", async (context) => {
    const partner = await partnerServer(context, ({ attempt }) => ({ status: attempt === 1 ? 500 : 200 }));
    const delivery = { maxInFlight: 64, rate: { perSecond: 40, burst: 10 } };
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url, { delivery })));
    await Promise.all(idsOf(50).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => partner.received.length === 100, { timeoutMs, what: "every attempt" });
    const times = partner.received.map(({ atMs }) => atMs).sort((a, b) => a - b);
    expect(times).toHaveLength(100);
    const tooMany = times.filter((fromMs, from) => {
      const inSecond = times.slice(from).filter((atMs) => atMs < fromMs + 1_000).length;
      // Requests that were begun in time may arrive late, and then together with others.
      return inSecond > 40 + 10 + 5;
    });
    expect(tooMany).toEqual([]);
    const tookMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
    // The first requests open connections, so they may arrive later after their start than the last ones.
    expect(tookMs).toBeGreaterThan(((100 - 10) / 40) * 1_000 - 150);
    expect(tookMs).toBeLessThan(6_000 + stallMsMax);
  });

  test("does not slow another", async (context) => {
    const [slow, fast] = await Promise.all([partnerServer(context), partnerServer(context)]);
    const delivery = { maxInFlight: 64, rate: { perSecond: 1, burst: 1 } };
    const config = configOf(partnerConfig("slow", slow.url, { delivery }), partnerConfig("fast", fast.url));
    const engine = await caseOf(context, config);
    await Promise.all(idsOf(100).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => fast.received.length === 100, { timeoutMs, what: "the fast partner" });
    // At one a second, it would have taken a minute and a half.
    expect(slow.received.length).toBeLessThan(20);
  });
});

describe.concurrent("a breaker", () => {
  const circuitBreaker = { failures: 5, openMs: 1_500, maxOpenMs: 3_000 };

  test("opens after failures in a row, is probed by exactly one attempt at a time, and closes after one success", async (context) => {
    let isSick = true;
    let atOnce = 0;
    let atOnceMax = 0;
    const partner = await partnerServer(context, () => {
      atOnce += 1;
      atOnceMax = Math.max(atOnceMax, atOnce);
      setTimeout(() => (atOnce -= 1), 50);
      return { status: isSick ? 500 : 200, delayMs: 50 };
    });
    const retry = { scheduleSeconds: Array.from({ length: 60 }, () => 1), maxAgeSeconds: 3_600, jitterPercent: 0 };
    const config = partnerConfig("one", partner.url, { retry, circuitBreaker, delivery: { maxInFlight: 8 } });
    const engine = await caseOf(context, configOf(config));
    await Promise.all(idsOf(40).map((id) => engine.ingest(eventBytes(id))));
    const isOpen = async (): Promise<boolean> => (await consumerOf(engine, "first", config.uid)).paused === true;
    await waitFor(isOpen, { timeoutMs, what: "the rest" });
    expect((await consumerOf(engine, "first", config.uid)).config.max_ack_pending).toBe(1);
    const atOpening = partner.received.length;
    // What was under way when it opened, and no more.
    expect(atOpening).toBeLessThanOrEqual(5 + 8);
    atOnceMax = 0;
    await waitFor(() => partner.received.length >= atOpening + 2, { timeoutMs, what: "two probes" });
    const [first, second] = partner.received.slice(atOpening);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(3_000);
    expect(atOnceMax).toBe(1);
    isSick = false;
    await untilEmpty(engine, timeoutMs);
    expect(new Set(partner.received.map(({ eventId }) => eventId)).size).toBe(40);
    expect(await consumerOf(engine, "first", config.uid)).toMatchObject({ config: { max_ack_pending: 6 } });
    expect((await consumerOf(engine, "first", config.uid)).paused).not.toBe(true);
  });

  test("stays open when another pod takes over", async (context) => {
    const partner = await partnerServer(context, () => ({ status: 500 }));
    const config = partnerConfig("one", partner.url, {
      circuitBreaker: { failures: 3, openMs: 60_000, maxOpenMs: 60_000 },
      // With a rate, all deliveries are stored before their first attempt.
      delivery: { maxInFlight: 64, rate: { perSecond: 1_000, burst: 1_000 } },
    });
    // Retries exist once a stored delivery has failed.
    const engine = await caseOf(context, configOf(config));
    await Promise.all(idsOf(10).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(async () => (await consumerOf(engine, "retry", config.uid)).paused === true, {
      timeoutMs,
      what: "the rest",
    });
    await engine.stop();
    const before = partner.received.length;
    const other = await startEngine(server.url, configOf(config), {
      settings: streamsOf(engine.prefix),
      podId: "pod-2",
    });
    context.onTestFinished(other.stop);
    const look = async () =>
      (await other.nats.manager.streams.info(engine.layout.streams.deliveries, { subjects_filter: ">" })).state;
    // Retries are due after a second; fresh events come too.
    await Promise.all(idsOf(3).map((id) => other.ingest(eventBytes(`late-${id}`))));
    const isDue = async (): Promise<boolean> =>
      Object.keys((await look()).subjects ?? {}).filter((subject) => subject.includes(".dlr.")).length > 0;
    await waitFor(isDue, { timeoutMs, what: "retries that are due" });
    expect(partner.received).toHaveLength(before);
    // An edit says that somebody looked after the partner.
    other.engine.apply(configOf({ ...config, specDigest: "another", generation: 2 }));
    await waitFor(() => partner.received.length > before, { timeoutMs, what: "attempts after the edit" });
  });
});

describe.concurrent("a Retry-After", () => {
  const circuitBreaker = { failures: 20, openMs: 1_000, maxOpenMs: 60_000 };

  test("pauses the partner, whose other events wait for one probe", async (context) => {
    let isLimited = true;
    const partner = await partnerServer(context, () =>
      isLimited ? { status: 429, headers: { "Retry-After": "3" } } : { status: 200, delayMs: 50 },
    );
    const config = partnerConfig("one", partner.url, { circuitBreaker, delivery: { maxInFlight: 8 } });
    const engine = await caseOf(context, configOf(config));
    await Promise.all(idsOf(20).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(async () => (await consumerOf(engine, "first", config.uid)).paused === true, {
      timeoutMs,
      what: "the pause",
    });
    isLimited = false;
    await Promise.all(idsOf(10).map((id) => engine.ingest(eventBytes(`later-${id}`))));
    const before = partner.received.length;
    expect(before).toBeLessThanOrEqual(8);
    await untilEmpty(engine, timeoutMs);
    const [last, probe, next] = partner.received.slice(before - 1).map(({ atMs }) => atMs);
    expect((probe ?? 0) - (last ?? 0)).toBeGreaterThanOrEqual(2_900);
    expect((next ?? 0) - (probe ?? 0)).toBeGreaterThanOrEqual(50);
  });

  test("still counts when another pod takes over, and is visible as rate_limited", async (context) => {
    const partner = await partnerServer(context, () => ({ status: 429, headers: { "Retry-After": "60" } }));
    const config = configOf(partnerConfig("one", partner.url, { circuitBreaker }));
    const engine = await caseOf(context, config);
    await engine.ingest(eventBytes("first"));
    const liveOf = async ({ engine: { partnerDetails } }: TestEngine) =>
      (await partnerDetails.read("default/one", { tenants: ["*"] })).live;
    await waitFor(async () => (await liveOf(engine)).breaker === "rate_limited", { timeoutMs, what: "the pause" });
    const { breaker_until: until } = await liveOf(engine);
    await engine.stop();
    const settings = streamsOf(engine.prefix);
    const other = await startEngine(server.url, config, { settings, podId: "pod-2" });
    context.onTestFinished(other.stop);
    await waitFor(async () => (await liveOf(other)).breaker === "rate_limited", { timeoutMs, what: "the same pause" });
    expect((await liveOf(other)).breaker_until).toBe(until);
    await other.ingest(eventBytes("second"));
    const first = async () => (await other.nats.manager.streams.info(engine.layout.streams.deliveries)).state.messages;
    await waitFor(async () => (await first()) === 2, { timeoutMs, what: "the stored delivery" });
    expect(partner.received).toHaveLength(1);
  });
});

describe.concurrent("a partner that another pod takes over", () => {
  test("has never more attempts under way than its limit, those straight from events included", async (context) => {
    const maxInFlight = 16;
    const delayOf = (eventId: string): number => (eventId.startsWith("direct-") ? 6_000 : 2_000);
    const isSlow = (eventId: string): boolean => !eventId.startsWith("warm-");
    const partner = await partnerServer(context, ({ eventId }) => ({
      delayMs: isSlow(eventId) ? delayOf(eventId) : 0,
    }));
    const uid = idsOf(64).find((id) => ownerOf(partnerKey(id), ["pod-1", "pod-2"]) === "pod-2") ?? "";
    const config = configOf(partnerConfig("one", partner.url, { uid, delivery: { maxInFlight }, timeoutMs: 10_000 }));
    const engine = await caseOf(context, config);
    const direct = await sendDirectly({ ...engine, partner, produce: (id) => engine.ingest(eventBytes(id)) }, 3);
    await Promise.all(idsOf(50).map((id) => engine.ingest(eventBytes(id))));
    const of = [...direct, ...idsOf(50)];
    const slow = () => partner.received.filter(({ eventId }) => of.includes(eventId));
    await waitFor(() => slow().length === maxInFlight, { timeoutMs, what: "as many attempts as it may have" });
    const other = await startEngine(server.url, config, { settings: streamsOf(engine.prefix), podId: "pod-2" });
    context.onTestFinished(other.stop);
    await waitFor(() => slow().length === 53, { timeoutMs, what: "every attempt" });
    expect(other.lines.filter(({ message }) => message === "attempt").length).toBeGreaterThan(0);
    const underWayAt = (timeMs: number): number =>
      slow().filter(({ eventId, atMs }) => atMs <= timeMs && timeMs < atMs + delayOf(eventId)).length;
    expect(Math.max(...slow().map(({ atMs }) => underWayAt(atMs)))).toBeLessThanOrEqual(maxInFlight);
  });
});

describe.concurrent("a partner whose backlog has reached its limit", () => {
  test("gets more as dead letters at once, and deliveries again when there is room; others are not concerned", async (context) => {
    const [other, slow] = await Promise.all([partnerServer(context), partnerServer(context)]);
    const delivery = { maxInFlight: 64, maxBacklog: { messages: 50, bytes: 100_000_000 } };
    const full = partnerConfig("full", slow.url, { delivery });
    const engine = await caseOf(context, configOf({ ...full, state: "Paused" }, partnerConfig("other", other.url)));
    await Promise.all(idsOf(60).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => engine.lines.some(({ message }) => /backlog limit reached/u.test(message)), {
      timeoutMs,
      what: "the mark",
    });
    const late = idsOf(5).map((id) => `late-${id}`);
    const stateOf = async (id: string, partner: string) =>
      (await engine.engine.history.event(id, ["*"]))?.deliveries.find(({ partner: name }) => name === partner);
    await waitFor(
      async () => {
        await engine.ingest(eventBytes("probe", { data: { n: Math.random() } })).catch(() => undefined);
        await Promise.all(late.map((id) => engine.ingest(eventBytes(id))));
        return (await stateOf("late-e-4", "default/full"))?.state === "dead";
      },
      { timeoutMs, what: "a dead letter" },
    );
    const dead = await stateOf("late-e-4", "default/full");
    expect(dead).toMatchObject({ reason: "backlog_full", attempts: [{ error: { reason: "backlog_full" } }] });
    await waitFor(() => other.received.length === 66, { timeoutMs, what: "the other partner" });
    engine.engine.apply(configOf(full, partnerConfig("other", other.url)));
    await waitFor(() => slow.received.length >= 60, { timeoutMs, what: "what waited" });
    await waitFor(() => engine.lines.some(({ message }) => /backlog below its limit again/u.test(message)), {
      timeoutMs,
      what: "the end of the mark",
    });
    const ids = idsOf(60);
    expect(ids.filter((id) => slow.of(id).length !== 1)).toEqual([]);
    await waitFor(
      async () => {
        const id = `again-${Math.random()}`;
        await engine.ingest(eventBytes(id));
        return await waitFor(() => slow.of(id).length === 1, { timeoutMs: 20_000, what: id });
      },
      { timeoutMs, what: "deliveries again" },
    );
  });
});

describe("partners that hang", () => {
  test("never keep others from their first attempt", async (context) => {
    const hanging = await partnerServer(context, () => ({ delayMs: 20_000 }));
    const fast = await partnerServer(context);
    const partners = idsOf(20).map((name) =>
      partnerConfig(`hang-${name}`, hanging.url, { timeoutMs: 15_000, delivery: { maxInFlight: 256 } }),
    );
    const subscriptions = [{ name: "fast", types: ["fast.**"], tenants: ["*"], producers: [] }];
    const config = configOf(...partners, partnerConfig("fast", fast.url, { subscriptions }));
    const engine = await caseOf(context, config);
    await Promise.all(idsOf(60).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => hanging.received.length > 200, { timeoutMs, what: "hanging attempts" });
    await Promise.all(idsOf(20).map((id) => engine.ingest(eventBytes(`fast-${id}`, { type: "fast.done" }))));
    await waitFor(() => fast.received.length === 20, { timeoutMs: 20_000, what: "the fast partner" });
    // No attempt that hangs had to end first. A process that stood still for longer than its lease gives up its own.
    const ends = engine.lines.filter(({ message }) => message !== "delivery handed over to the next owner");
    expect(ends.filter(({ fields }) => String(fields["partner"]).includes("hang-"))).toEqual([]);
  });
});

/** Milliseconds from the acceptance of each event to its first attempt, one event after another. */
async function timesOf(
  { ingest }: EngineCase,
  partner: WebhookPartnerServer,
  ids: readonly string[],
): Promise<readonly number[]> {
  const times: number[] = [];
  for (const id of ids) {
    const startedAtMs = Date.now();
    await ingest(eventBytes(id, { type: "fast.done" }));
    const first = await waitFor(() => partner.of(id)[0], { timeoutMs, what: id, pollMs: 2 });
    times.push(first.atMs - startedAtMs);
  }
  return times.sort((a, b) => a - b);
}

const failuresOf = ({ lines }: EngineCase) =>
  lines.filter(({ message, fields }) => message === "attempt" && fields["code"] !== "status_200");

const medianOf = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? NaN;

describe("partners at the same origin", () => {
  test("have all their places and no failures while the other eight are slow", async (context) => {
    const maxInFlight = 64;
    const underWay = new Map<string, number>();
    const most = new Map<string, number>();
    const gateway = await partnerServer(context, async ({ path }) => {
      if (path.startsWith("/fast")) return {};
      const count = (underWay.get(path) ?? 0) + 1;
      underWay.set(path, count);
      most.set(path, Math.max(count, most.get(path) ?? 0));
      await sleep(2_000);
      underWay.set(path, (underWay.get(path) ?? 1) - 1);
      return {};
    });
    const at = (path: string): string => new URL(path, gateway.url).href;
    const forTypes = (types: string) => [{ name: "some", types: [types], tenants: ["*"], producers: [] }];
    const slow = idsOf(8).map((name) =>
      partnerConfig(name, at(`/${name}`), { timeoutMs: 3_000, subscriptions: forTypes("payout.**") }),
    );
    const fast = partnerConfig("fast", at("/fast"), { timeoutMs: 3_000, subscriptions: forTypes("fast.**") });
    const engine = await caseOf(context, configOf(fast, ...slow));
    const alone = await timesOf(
      engine,
      gateway,
      idsOf(20).map((id) => `alone-${id}`),
    );
    await Promise.all(idsOf(100).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => gateway.received.length >= 20 + 256, { timeoutMs, what: "slow attempts" });
    const among = await timesOf(
      engine,
      gateway,
      idsOf(20).map((id) => `among-${id}`),
    );
    await waitFor(() => gateway.received.length === 40 + 800, { timeoutMs, what: "every attempt" });
    await untilEmpty(engine, timeoutMs);
    // Waiting for a slow partner would take two seconds.
    expect(medianOf(among)).toBeLessThan(50 + 5 * medianOf(alone));
    expect(failuresOf(engine)).toEqual([]);
    expect([...most.values()]).toEqual(slow.map(() => maxInFlight));
  });

  test("are routed and attempted while a slow one takes as many attempts straight from events as it may", async (context) => {
    const gateway = await partnerServer(context, ({ path }) => ({ delayMs: path.startsWith("/fast") ? 0 : 2_000 }));
    const at = (path: string): string => new URL(path, gateway.url).href;
    const forTypes = (types: string) => [{ name: "some", types: [types], tenants: ["*"], producers: [] }];
    const slow = partnerConfig("slow", at("/slow"), {
      timeoutMs: 3_000,
      subscriptions: forTypes("payout.**"),
      delivery: { maxInFlight: 512 },
    });
    const fast = partnerConfig("fast", at("/fast"), { timeoutMs: 3_000, subscriptions: forTypes("fast.**") });
    const engine = await caseOf(context, configOf(fast, slow));
    const alone = await timesOf(
      engine,
      gateway,
      idsOf(20).map((id) => `alone-${id}`),
    );
    await Promise.all(idsOf(400).map((id) => engine.ingest(eventBytes(id))));
    const among = await timesOf(
      engine,
      gateway,
      idsOf(20).map((id) => `among-${id}`),
    );
    // An attempt is logged once its record is stored, a moment after the partner has received it.
    const isFast = ({ message, fields }: (typeof engine.lines)[number]): boolean =>
      message === "attempt" && fields["partner"] === "default/fast";
    await waitFor(() => engine.lines.filter(isFast).length === 40, { timeoutMs, what: "the attempts of the fast one" });
    await untilEmpty(engine, timeoutMs);
    expect(medianOf(among)).toBeLessThan(50 + 5 * medianOf(alone));
    expect(failuresOf(engine)).toEqual([]);
  });
});

describe("a replay", () => {
  test("lets new events of its partner go first, and goes on meanwhile", async (context) => {
    const partner = await partnerServer(context, () => ({ delayMs: 50 }));
    const delivery = { maxInFlight: 8 };
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url, { delivery })));
    const ids = idsOf(300);
    await Promise.all(ids.map((id) => engine.ingest(eventBytes(id))));
    await untilEmpty(engine, timeoutMs);
    const request = { event_ids: ids, rate_per_second: 10_000 };
    await engine.engine.replays.replay(Buffer.from(JSON.stringify(request)), { client: "support", tenants: ["*"] });
    await waitFor(() => partner.received.length >= 360, { timeoutMs, what: "the replay" });
    const before = partner.received.length;
    const startedAtMs = Date.now();
    const fresh = idsOf(10).map((id) => `fresh-${id}`);
    for (const id of fresh) await engine.ingest(eventBytes(id));
    await waitFor(() => fresh.every((id) => partner.of(id).length === 1), { timeoutMs, what: "the new events" });
    const times = fresh.map((id) => (partner.of(id)[0]?.atMs ?? 0) - startedAtMs);
    // Behind the replay, they would wait for 240 attempts of 50 ms, eight at once: 1.5 s.
    expect(Math.max(...times)).toBeLessThan(700);
    await waitFor(() => partner.received.length >= before + 10 + 50, {
      timeoutMs: 5_000,
      what: "the rest of the replay",
    });
    expect(partner.received.filter(({ headers }) => "x-webhook-replay" in headers).length).toBeGreaterThan(50);
  });
});
