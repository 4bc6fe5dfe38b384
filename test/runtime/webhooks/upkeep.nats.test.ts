import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import {
  type CaseOverrides,
  type Cleanup,
  engineCase,
  type EngineCase,
  partnerServer,
  removedAtOnce,
  untilEmpty,
} from "./engine-cases.ts";
import { configOf, eventBytes, partnerConfig, startEngine, type TestEngine } from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 30_000;

const caseOf = (context: Cleanup, config: RuntimeConfig, overrides: CaseOverrides = {}): Promise<EngineCase> =>
  engineCase(server.url, context, config, overrides);

async function untilState({ engine }: TestEngine, eventId: string, partner: string, state: string): Promise<void> {
  const look = async (): Promise<boolean> =>
    (await engine.history.event(eventId, ["*"]))?.deliveries.find(({ partner: name }) => name === partner)?.state ===
    state;
  await waitFor(look, { timeoutMs, what: `${eventId} ${state}` });
}

const names = async (list: AsyncIterable<{ readonly name: string }>): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const { name } of list) found.push(name);
  return found;
};

describe.concurrent("deleted streams", () => {
  test("are recreated, and deliveries continue from events and attempts", async (context) => {
    const partner = await partnerServer(context, ({ eventId, attempt }) => ({
      status: eventId === "later" && attempt === 1 ? 500 : 200,
    }));
    const retry = { scheduleSeconds: [3_000], maxAgeSeconds: 3_600, jitterPercent: 0 };
    // With a rate, deliveries are stored before their first attempt. A retry after a direct attempt keeps its time.
    const delivery = { maxInFlight: 64, rate: { perSecond: 1_000, burst: 1_000 } };
    const active = partnerConfig("active", partner.url, { retry, delivery });
    const paused = partnerConfig("paused", partner.url, { state: "Paused" });
    const engine = await caseOf(context, configOf(active, paused));
    await engine.ingest(eventBytes("done"));
    await engine.ingest(eventBytes("later"));
    await untilState(engine, "done", "default/active", "delivered");
    await waitFor(async () => (await engine.engine.history.event("later", ["*"]))?.deliveries[0]?.next_attempt_at, {
      timeoutMs,
      what: "the failed attempt",
    });
    // Its record comes first: what is deleted before the retry is stored is stored again, for its time, by the one who
    // made it.
    const { deliveries } = engine.layout.streams;
    const schedules = { subjects_filter: engine.layout.schedule(partnerKey(active.uid), "*") };
    const scheduled = async () =>
      Object.keys((await engine.nats.manager.streams.info(deliveries, schedules)).state.subjects ?? {}).length;
    await waitFor(async () => (await scheduled()) === 1, { timeoutMs, what: "the retry to be stored" });
    await engine.nats.manager.streams.delete(deliveries);
    await waitFor(() => partner.of("later").length === 2, { timeoutMs, what: "the retry that was lost" });
    await untilState(engine, "later", "default/active", "delivered");
    engine.engine.apply(configOf(active, partnerConfig("paused", partner.url)));
    await untilState(engine, "done", "default/paused", "delivered");
    await untilState(engine, "later", "default/paused", "delivered");
    await engine.ingest(eventBytes("new"));
    await untilState(engine, "new", "default/active", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("done")).toHaveLength(2);
    expect(
      partner
        .of("later")
        .map(({ attempt }) => attempt)
        .sort((a, b) => a - b),
    ).toEqual([1, 1, 2, 2]);
    expect(
      engine.lines.some(({ level, message }) => level === "error" && /missing streams recreated/u.test(message)),
    ).toBe(true);
  });

  test("are recreated with all consumers and buckets, as long as the accepted events exist", async (context) => {
    const partner = await partnerServer(context);
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url)));
    await engine.ingest(eventBytes("before"));
    await untilState(engine, "before", "default/one", "delivered");
    const { streams, buckets } = engine.layout;
    const { deliveries, replays, advisories } = streams;
    const all = [deliveries, replays, advisories, ...Object.values(buckets).map((bucket) => `KV_${bucket}`)];
    await Promise.all(all.map((stream) => engine.nats.manager.streams.delete(stream)));
    await waitFor(() => engine.ingest(eventBytes("after")), { timeoutMs, what: "the way in" });
    await untilState(engine, "after", "default/one", "delivered");
    expect(new Set(partner.received.map(({ eventId }) => eventId))).toEqual(new Set(["before", "after"]));
  });

  test("stay gone with what was accepted, and the pod says so", async (context) => {
    const engine = await caseOf(context, configOf());
    const { events, attempts, deadLetters } = engine.layout.streams;
    for (const stream of [deadLetters, attempts, events]) await engine.nats.manager.streams.delete(stream);
    const loss = new RegExp(`^StreamsLost: ${events}, .*; ${attempts}, .*; ${deadLetters}, `, "u");
    await waitFor(() => loss.test(engine.engine.health().detail ?? ""), { timeoutMs, what: "the loss" });
    expect(engine.lines.some(({ level, message }) => level === "error" && message === "streams lost")).toBe(true);
    const hasTried = (): boolean => engine.lines.some(({ fields }) => fields["duty"] === "topology");
    await waitFor(hasTried, { timeoutMs, what: "the job to refuse" });
    for (const stream of [deadLetters, attempts, events])
      await expect(engine.nats.manager.streams.info(stream)).rejects.toThrow("stream not found");
  });
});

describe.concurrent("a partner that is removed", () => {
  test("lets its attempts end, then what waits for it as dead letters, then its consumers go; others keep theirs", async (context) => {
    const partner = await partnerServer(context, ({ eventId }) => ({
      status: eventId === "slow" ? 200 : 500,
      delayMs: eventId === "slow" ? 3_000 : 0,
    }));
    const retry = { scheduleSeconds: [3_000], maxAgeSeconds: 3_600, jitterPercent: 0 };
    const gone = partnerConfig("gone", partner.url, { retry, timeoutMs: 10_000 });
    // It is not told of the deliveries that end.
    const subscriptions = [{ name: "s", types: ["payout.*"], tenants: ["*"], producers: [] }];
    const stays = partnerConfig("stays", partner.url, { retry, timeoutMs: 10_000, subscriptions });
    const engine = await caseOf(context, configOf(gone, stays), removedAtOnce);
    await engine.ingest(eventBytes("fails"));
    await waitFor(() => partner.of("fails").length === 2, { timeoutMs, what: "two failures" });
    const { deliveries } = engine.layout.streams;
    await waitFor(async () => (await engine.nats.manager.streams.info(deliveries)).state.messages === 2, {
      timeoutMs,
      what: "two schedules",
    });
    const bucket = `KV_${engine.layout.buckets.partners}`;
    await waitFor(async () => (await engine.nats.manager.streams.info(bucket)).state.messages === 2, {
      timeoutMs,
      what: "two known partners",
    });
    await engine.ingest(eventBytes("slow"));
    await waitFor(() => partner.of("slow").length === 2, { timeoutMs, what: "two slow attempts" });
    engine.engine.apply(configOf(stays));
    await waitFor(async () => (await engine.nats.manager.streams.info(bucket)).state.messages === 1, {
      timeoutMs,
      what: "the removal",
    });
    await untilState(engine, "slow", "default/gone", "delivered");
    await untilState(engine, "fails", "default/gone", "dead");
    const consumers = await names(engine.nats.manager.consumers.list(deliveries));
    const token = partnerKey(stays.uid);
    expect([...consumers].sort()).toEqual([`first-${token}`, `retry-${token}`]);
    const left = await engine.nats.manager.streams.info(deliveries, { subjects_filter: ">" });
    expect(Object.keys(left.state.subjects ?? {})).toEqual([expect.stringContaining(`.sch.${token}.`) as string]);
  });
});

describe("a restart of the server and all pods", () => {
  test("keeps every retry that waits and makes each once", async (context) => {
    const own = await startNatsServer();
    context.onTestFinished(() => own.stop());
    const partner = await partnerServer(context, ({ attempt }) => ({ status: attempt === 1 ? 500 : 200 }));
    const retry = { scheduleSeconds: [4], maxAgeSeconds: 3_600, jitterPercent: 100 };
    const config = configOf(partnerConfig("one", partner.url, { retry }));
    const before = await startEngine(own.url, config);
    const ids = Array.from({ length: 500 }, (_, index) => `e-${index}`);
    await Promise.all(ids.map((id) => before.ingest(eventBytes(id))));
    const stream = createLayout("hg").streams.deliveries;
    await waitFor(() => partner.received.length >= ids.length, { timeoutMs, what: "every first attempt" });
    await before.stop();
    await own.kill9();
    await own.restart();
    const after = await startEngine(own.url, config, { podId: "pod-2" });
    context.onTestFinished(after.stop);
    const isEmpty = async (): Promise<boolean> => (await after.nats.manager.streams.info(stream)).state.messages === 0;
    await waitFor(isEmpty, { timeoutMs, what: "every retry" });
    const attempts = ids.map((id) =>
      partner
        .of(id)
        .map(({ attempt }) => attempt)
        .join(),
    );
    expect(attempts.filter((made) => made !== "1,2")).toEqual([]);
    const early = ids.filter((id) => (partner.of(id)[1]?.atMs ?? 0) - (partner.of(id)[0]?.atMs ?? 0) < 4_000);
    expect(early).toEqual([]);
  });
});

describe("first attempts", () => {
  test("are not held back by any number of retries that hang", async (context) => {
    const partner = await partnerServer(context, ({ attempt, eventId }) => ({
      status: attempt === 1 && eventId.startsWith("old") ? 500 : 200,
      delayMs: attempt === 1 ? 0 : 1_500,
    }));
    const config = partnerConfig("one", partner.url, { delivery: { maxInFlight: 8 }, timeoutMs: 10_000 });
    const engine = await caseOf(context, configOf(config));
    await Promise.all(Array.from({ length: 40 }, (_, index) => engine.ingest(eventBytes(`old-${index}`))));
    await waitFor(() => partner.received.some(({ attempt }) => attempt === 2), { timeoutMs, what: "retries" });
    const waitsMs: number[] = [];
    for (let index = 0; index < 40; index += 1) {
      const startedAtMs = Date.now();
      await engine.ingest(eventBytes(`fresh-${index}`));
      const fresh = await waitFor(() => partner.of(`fresh-${index}`)[0], { timeoutMs, what: "a fresh one", pollMs: 2 });
      waitsMs.push(fresh.atMs - startedAtMs);
    }
    // A retry holds its place for 1,500 ms. A busy machine holds up a few, but not half of them.
    expect(waitsMs.toSorted((one, other) => one - other)[20]).toBeLessThan(750);
    expect(partner.received.filter(({ attempt }) => attempt === 2).length).toBeLessThan(40);
  });
});
