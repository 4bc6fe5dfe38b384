import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { laneConsumer } from "../../../runtime/nats/layout.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { isSharedLane, compilePartners } from "../../../runtime/webhooks/partners/partner.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import {
  type CaseOverrides,
  type Cleanup,
  engineCase,
  type EngineCase,
  partnerServer,
  untilEmpty,
} from "./engine-cases.ts";
import {
  configOf,
  eventBytes,
  namesInLane,
  partnerConfig,
  startEngine,
  streamsOf,
  testSettings,
  type TestEngine,
} from "./engine-fixture.ts";
import { idsOf } from "./fault-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 40_000;
/** Ten partners that share a lane when they have none of their own, of whom four have one. */
const names = namesInLane("shared-0", 10);
const delivery = { ...testSettings.delivery, ownLanesMax: 4 };

const caseOf = (context: Cleanup, config: RuntimeConfig, overrides: CaseOverrides = {}): Promise<EngineCase> =>
  engineCase(server.url, context, config, { delivery, ...overrides });

/** Names such that exactly these partners share the one lane of ten. */
function sharing(url: string): readonly string[] {
  const config = configOf(...names.map((name) => partnerConfig(name, url)));
  const partners = compilePartners(config, [], new Set(), delivery.ownLanesMax);
  return partners.filter(({ lane }) => isSharedLane(lane)).map(({ config: { name } }) => name);
}

describe("partners that share a lane", () => {
  test("all get their events once, retries too; one that is dead gets a lane of its own and is left alone", async (context) => {
    const well = await partnerServer(context, ({ attempt, eventId }) => ({
      status: attempt === 1 && eventId.endsWith("7") ? 500 : 200,
    }));
    let isSick = true;
    const sick = await partnerServer(context, () => ({ status: isSick ? 500 : 200 }));
    const [sickName = ""] = sharing(well.url);
    const circuitBreaker = { failures: 5, openMs: 1_000, maxOpenMs: 1_000 };
    const retry = { scheduleSeconds: Array.from({ length: 60 }, () => 1), maxAgeSeconds: 3_600, jitterPercent: 0 };
    const configs = names.map((name) =>
      partnerConfig(name, name === sickName ? sick.url : well.url, { circuitBreaker, retry, timeoutMs: 20_000 }),
    );
    const engine = await caseOf(context, configOf(...configs));
    const ids = idsOf(100);
    await Promise.all(ids.map((id) => engine.ingest(eventBytes(id))));
    const wellDone = (): boolean => ids.every((id) => well.of(id).length >= 9 * (id.endsWith("7") ? 2 : 1));
    await waitFor(wellDone, { timeoutMs, what: "the partners that are well" });
    const promoted = `KV_${engine.layout.buckets.promotedPartners}`;
    await waitFor(async () => (await engine.nats.manager.streams.info(promoted)).state.messages === 1, {
      timeoutMs,
      what: "the promotion",
    });
    isSick = false;
    await untilEmpty(engine, timeoutMs);
    expect(ids.filter((id) => well.of(id).length !== 9 * (id.endsWith("7") ? 2 : 1))).toEqual([]);
    const delivered = ids.filter((id) => sick.of(id).length > 0);
    expect(delivered).toHaveLength(ids.length);
  });

  test("get their events at once while six others, without lanes of their own, are slow", async (context) => {
    const partner = await partnerServer(context, ({ path }) => ({ delayMs: path.endsWith("fast") ? 0 : 5_000 }));
    const configs = names.slice(0, 7).map((name, place) => {
      const types = place === 0 ? ["fast.**"] : ["payout.**"];
      const subscriptions = [{ name: "some", types, tenants: ["*"], producers: [] }];
      return partnerConfig(name, new URL(place === 0 ? "fast" : name, partner.url).href, {
        subscriptions,
        timeoutMs: 20_000,
      });
    });
    const engine = await caseOf(context, configOf(...configs), { delivery: { ...delivery, ownLanesMax: 0 } });
    await Promise.all(idsOf(100).map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => partner.received.length >= 190, { timeoutMs, what: "slow attempts" });
    const before = partner.received.length;
    const startedAtMs = Date.now();
    await Promise.all(idsOf(10, "fast").map((id) => engine.ingest(eventBytes(id, { type: "fast.done" }))));
    const fast = (): readonly number[] =>
      partner.received.filter(({ path }) => path === "/webhooks/v1/fast").map(({ atMs }) => atMs - startedAtMs);
    await waitFor(() => fast().length === 10, { timeoutMs, what: "the fast partner" });
    expect(before).toBeLessThan(256);
    expect(Math.max(...fast())).toBeLessThan(2_000);
  });

  test("resume as soon as their circuit breaker allows it, also when no partner can get a lane of its own", async (context) => {
    const circuitBreaker = { failures: 5, openMs: 1_000, maxOpenMs: 1_000 };
    let requests = 0;
    const partner = await partnerServer(context, () => ({
      status: (requests += 1) > circuitBreaker.failures ? 200 : 500,
    }));
    const retry = { scheduleSeconds: [1], maxAgeSeconds: 3_600, jitterPercent: 0 };
    const config = configOf(
      partnerConfig(names[0] ?? "", partner.url, { circuitBreaker, retry, delivery: { maxInFlight: 1 } }),
    );
    const engine = await caseOf(context, config, { delivery: { ...delivery, ownLanesMax: 0 } });
    await Promise.all(idsOf(20).map((id) => engine.ingest(eventBytes(id))));
    // Messages behind a pause that may last are deferred for half a minute and more.
    await untilEmpty(engine, 25_000);
    expect(partner.received).toHaveLength(20 + circuitBreaker.failures);
  });

  test("are paused by a Retry-After alone, also for the next owner and in a lane of their own", async (context) => {
    const well = await partnerServer(context);
    const busy = await partnerServer(context, () => ({ status: 429, headers: { "Retry-After": "60" } }));
    const [busyName = ""] = sharing(well.url);
    const config = configOf(...names.map((name) => partnerConfig(name, name === busyName ? busy.url : well.url)));
    const engine = await caseOf(context, config);
    const breakerOf = async ({ engine: { partnerDetails } }: TestEngine) =>
      (await partnerDetails.read(`default/${busyName}`, { tenants: ["*"] })).live.breaker;
    await engine.ingest(eventBytes("first"));
    await waitFor(async () => (await breakerOf(engine)) === "rate_limited", { timeoutMs, what: "the pause" });
    await engine.stop();
    const overrides = { settings: streamsOf(engine.prefix, delivery), podId: "pod-2" };
    const other = await startEngine(server.url, config, overrides);
    context.onTestFinished(other.stop);
    await waitFor(async () => (await breakerOf(other)) === "rate_limited", { timeoutMs, what: "the same pause" });
    await Promise.all(idsOf(5).map((id) => other.ingest(eventBytes(id))));
    await waitFor(() => idsOf(5).every((id) => well.of(id).length === 9), { timeoutMs, what: "the others" });
    const promoted = `KV_${engine.layout.buckets.promotedPartners}`;
    await waitFor(async () => (await other.nats.manager.streams.info(promoted)).state.messages === 1, {
      timeoutMs,
      what: "the promotion",
    });
    const { consumers } = other.nats.manager;
    const consumer = laneConsumer("first", partnerKey(`uid-of-${busyName}`));
    const isPaused = async (): Promise<boolean> =>
      (await consumers.info(engine.layout.streams.deliveries, consumer).catch(() => undefined))?.paused === true;
    await waitFor(isPaused, { timeoutMs, what: "the paused lane of its own" });
    expect(busy.received).toHaveLength(1);
  });

  test("have a backlog each", async (context) => {
    let isHanging = true;
    const partner = await partnerServer(context, () => ({ status: 200, delayMs: isHanging ? 10_000 : 0 }));
    const [one = ""] = sharing(partner.url);
    const registry = new Registry();
    const configs = names.map((name) => partnerConfig(name, partner.url, { timeoutMs: 20_000 }));
    const engine = await caseOf(context, configOf(...configs), { registry });
    const ids = idsOf(3);
    await Promise.all(ids.map((id) => engine.ingest(eventBytes(id))));
    const backlog = async (): Promise<number | undefined> => {
      const found = await registry.getSingleMetric("heliograph_webhook_partner_backlog")?.get();
      return found?.values.find(({ labels }) => labels["partner"] === `default/${one}`)?.value;
    };
    await waitFor(async () => (await backlog()) === ids.length, { timeoutMs, what: "the backlog of one of them" });
    const all = await registry.getSingleMetric("heliograph_webhook_backlog")?.get();
    expect(all?.values[0]?.value).toBe(ids.length * configs.length);
    isHanging = false;
  });

  test("keep their retries when they get lanes of their own meanwhile", async (context) => {
    const partner = await partnerServer(context, ({ attempt }) => ({ status: attempt === 1 ? 500 : 200 }));
    const retry = { scheduleSeconds: [2], maxAgeSeconds: 3_600, jitterPercent: 0 };
    const one = sharing(partner.url)[0] ?? "";
    const configs = names.map((name) => partnerConfig(name, partner.url, { retry }));
    const engine = await caseOf(context, configOf(...configs));
    await engine.ingest(eventBytes("e-1"));
    await waitFor(() => partner.received.length === 10, { timeoutMs, what: "every first attempt" });
    engine.engine.apply(configOf(...configs.filter(({ name }) => name === one)));
    const deliveryOf = async () =>
      (await engine.engine.history.event("e-1", ["*"]))?.deliveries.find(({ partner: label }) => label.endsWith(one));
    await waitFor(async () => (await deliveryOf())?.state === "delivered", { timeoutMs, what: "the retry" });
    expect((await deliveryOf())?.attempts.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 500],
      [2, 200],
    ]);
  });

  test("get their retries soon after a configuration without them", async (context) => {
    const partner = await partnerServer(context, ({ attempt }) => ({ status: attempt === 1 ? 500 : 200 }));
    const retry = { scheduleSeconds: [1], maxAgeSeconds: 3_600, jitterPercent: 0 };
    const [one = ""] = sharing(partner.url);
    const subscriptions = [{ name: "none", types: ["other.**"], tenants: ["*"], producers: [] }];
    const others = names
      .filter((name) => name !== one)
      .map((name) => partnerConfig(name, partner.url, { subscriptions }));
    const all = configOf(...others, partnerConfig(one, partner.url, { retry }));
    const engine = await caseOf(context, all);
    await engine.ingest(eventBytes("e-1"));
    await waitFor(() => partner.received.length === 1, { timeoutMs, what: "the first attempt" });
    engine.engine.apply(configOf(...others));
    const { streams } = engine.nats.manager;
    const isDeferred = async (): Promise<boolean> => {
      const waiting = { last_by_subj: `${engine.prefix}.sch.>` };
      const message = await streams.getMessage(engine.layout.streams.deliveries, waiting);
      return message?.header.get("Hg-Step") === "0:2:1";
    };
    await waitFor(isDeferred, { timeoutMs, what: "the deferral" });
    engine.engine.apply(all);
    const appliedAtMs = Date.now();
    await waitFor(() => partner.received.length === 2, { timeoutMs, what: "the retry" });
    expect(Date.now() - appliedAtMs).toBeLessThan(20_000);
  });

  test("lose nothing and get nothing twice while lanes change under load", async (context) => {
    const partner = await partnerServer(context, ({ attempt }) => ({ status: attempt === 1 ? 500 : 200 }));
    const retry = { scheduleSeconds: [2], maxAgeSeconds: 3_600, jitterPercent: 100 };
    // All first attempts fail. An open breaker would postpone the retries of a slow machine by half a minute and more.
    const circuitBreaker = { failures: 10_000, openMs: 1_000, maxOpenMs: 1_000 };
    const configs = names.map((name) => partnerConfig(name, partner.url, { circuitBreaker, retry, timeoutMs: 20_000 }));
    const few = configOf(...configs.slice(0, 3));
    const many = configOf(...configs);
    const engine = await caseOf(context, few);
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(idsOf(100, `few-${round}`).map((id) => engine.ingest(eventBytes(id))));
      engine.engine.apply(many);
      await Promise.all(idsOf(50, `many-${round}`).map((id) => engine.ingest(eventBytes(id))));
      await waitFor(
        async () => (await engine.engine.history.event(`many-${round}-49`, ["*"]))?.deliveries.length === 10,
        {
          timeoutMs,
          what: "routing",
        },
      );
      engine.engine.apply(few);
    }
    engine.engine.apply(many);
    await waitFor(() => partner.received.length >= 2 * 10 * 4 * 50, { timeoutMs, what: "most" });
    await untilEmpty(engine, timeoutMs);
    const manyIds = idsOf(4, "many").flatMap((round) => idsOf(50, round));
    expect(manyIds.filter((id) => partner.of(id).length !== 20)).toEqual([]);
    const fewIds = idsOf(4, "few").flatMap((round) => idsOf(100, round));
    expect(fewIds.filter((id) => partner.of(id).length % 2 !== 0 || partner.of(id).length < 6)).toEqual([]);
  });
});
