// Cases from public reports of senders and brokers: a backlog of another partner, and owners that change.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { type Cleanup, engineCase, type EngineCase, partnerServer, untilEmpty } from "../engine-cases.ts";
import {
  configOf,
  eventBytes,
  namesInLane,
  partnerConfig,
  startEngine,
  streamsOf,
  testSettings,
  type TestEngine,
} from "../engine-fixture.ts";
import { idsOf, produceAll } from "../fault-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 60_000;

/** Lanes of their own, or one that both partners share. */
const kinds = [
  ["lanes of their own", testSettings.delivery.ownLanesMax ?? 1_000],
  ["a shared lane", 0],
] as const;

const only = (type: string) => ({
  subscriptions: [{ name: "all", types: [type], tenants: ["*"], producers: [] }],
});

describe.each(kinds)("one event during a flood for another partner, in %s", (_kind, ownLanesMax) => {
  // A worker of peers sent whatever came first (postel#126, gradient#111, glific#4927, keygen-api#771).
  test("is sent before all but a few of those that waited before it", async (context) => {
    const [flooded, quiet] = namesInLane("shared-0", 2);
    const flood = await partnerServer(context, () => ({ delayMs: 50 }));
    const seen = new Map<string, number>();
    const other = await partnerServer(context, ({ eventId }) => {
      seen.set(eventId, flood.received.length);
      return {};
    });
    const config = configOf(
      partnerConfig(flooded ?? "", flood.url, { ...only("bulk.**"), delivery: { maxInFlight: 16 } }),
      partnerConfig(quiet ?? "", other.url, only("payout.**")),
    );
    const delivery = { ...testSettings.delivery, ownLanesMax };
    const it = await engineCase(server.url, context, config, { delivery });
    await produceAll(idsOf(1_000), (id) => it.ingest(eventBytes(id, { type: "bulk.sent" })));
    const overtaken: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const id = `quiet-${n}`;
      const before = flood.received.length;
      await it.ingest(eventBytes(id));
      await waitFor(() => seen.has(id), { timeoutMs, what: "the event of the other partner" });
      overtaken.push((seen.get(id) ?? 0) - before);
    }
    expect(flood.received.length).toBeLessThan(800);
    expect(Math.max(...overtaken)).toBeLessThan(100);
    await untilEmpty(it, timeoutMs);
    expect(new Set(flood.received.map(({ eventId }) => eventId)).size).toBe(1_000);
  });
});

describe("retries that are due", () => {
  // A consumer of a peer whose places were taken never read its delayed messages (pulsar#26236).
  test("are sent while fresh events take all places", async (context) => {
    let sentBefore = 0;
    const partner = await partnerServer(context, ({ eventId, attempt }) => {
      if (eventId === "again" && attempt === 1) return { status: 500 };
      if (eventId === "again") sentBefore = partner.received.length;
      return { delayMs: 50 };
    });
    const config = configOf(partnerConfig("one", partner.url, { delivery: { maxInFlight: 4 } }));
    const it = await engineCase(server.url, context, config);
    await it.ingest(eventBytes("again"));
    await produceAll(idsOf(400), (id) => it.ingest(eventBytes(id)));
    await waitFor(() => partner.of("again").length === 2, { timeoutMs, what: "the retry" });
    expect(sentBefore).toBeLessThan(300);
  });
});

/** A pod of an installation. */
async function podOf(it: EngineCase, context: Cleanup, config: RuntimeConfig, podId: string): Promise<TestEngine> {
  const engine = await startEngine(server.url, config, { settings: streamsOf(it.prefix), podId });
  context.onTestFinished(engine.stop);
  return engine;
}

const partnerCount = 4;

/** Partners with a lane each, and an endpoint that fails one event for ever. */
async function several(context: Cleanup) {
  const partner = await partnerServer(context, ({ eventId }) => ({
    status: eventId === "e-20" ? 500 : 200,
    delayMs: 5,
  }));
  const retry = { scheduleSeconds: [1], maxAgeSeconds: 3_600, jitterPercent: 0 };
  const names = idsOf(partnerCount);
  const config = configOf(
    ...names.map((name) => partnerConfig(name, partner.url.replace("{domain}", name), { retry })),
  );
  /** Each pair of a partner and a successful event that did not arrive once. */
  const wrong = (count: number): readonly string[] => {
    const found = Map.groupBy(partner.received, ({ path, eventId }) => `${path} ${eventId}`);
    const paths = names.map((name) => new URL(partner.url.replace("{domain}", name)).pathname);
    const wanted = paths.flatMap((path) => idsOf(count).map((id) => `${path} ${id}`));
    return wanted.filter((pair) => !pair.endsWith(" e-20") && found.get(pair)?.length !== 1);
  };
  return { config, wrong };
}

describe("owners that change while events come", () => {
  // Additional consumers stopped those of peers, and a failed message blocked them (pulsar#8115, #21199, #15189, #749).
  test("leave out and repeat nothing when pods start and stop one after another", async (context) => {
    const { config, wrong } = await several(context);
    const first = await engineCase(server.url, context, config, { podId: "pod-1" });
    const ids = idsOf(600);
    let producer: TestEngine = first;
    const producing = produceAll(ids, (id) => producer.ingest(eventBytes(id)), 2);
    const second = await podOf(first, context, config, "pod-2");
    producer = second;
    const third = await podOf(first, context, config, "pod-3");
    await first.engine.stop(timeoutMs);
    await podOf(first, context, config, "pod-1");
    await third.stop();
    await producing;
    await untilEmpty(first, timeoutMs, second);
    expect(wrong(ids.length)).toEqual([]);
  });

  // No consumer of a peer was active after all had ended and started again (pulsar#1061).
  test("leave out and repeat nothing when all pods stop and start again", async (context) => {
    const { config, wrong } = await several(context);
    const first = await engineCase(server.url, context, config, { podId: "pod-1" });
    const second = await podOf(first, context, config, "pod-2");
    const ids = idsOf(300);
    await produceAll(ids.slice(0, 250), (id) => first.ingest(eventBytes(id)));
    await Promise.all([first.engine.stop(timeoutMs), second.stop()]);
    const again = await podOf(first, context, config, "pod-2");
    await podOf(first, context, config, "pod-1");
    await produceAll(ids.slice(250), (id) => again.ingest(eventBytes(id)));
    await untilEmpty(first, timeoutMs, again);
    expect(wrong(ids.length)).toEqual([]);
  });
});
