import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { ClassLimits } from "../../../../crds/config.ts";
import { connectNats } from "../../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { createPodMessages } from "../../../../runtime/nats/messages/pod-messages.ts";
import { createWebhookEngine } from "../../../../runtime/webhooks/engine.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { isSoak } from "../../../support/soak.ts";
import { waitFor } from "../../../support/wait.ts";
import { type MetricsServer, metricsServerOver, nowMs, simulated } from "../../http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore } from "../../stores/scripted-store.ts";
import { configOf, memoryLog, testSettings } from "../../webhooks/engine-fixture.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Pod {
  readonly server: MetricsServer;
  readonly livePods: () => readonly string[];
}

/** A pod with both halves, over a NATS and a store that all of them share. */
async function startPod(name: string, nats: NatsServerHandle, store: string): Promise<Pod> {
  const handle = await connectNats({ servers: [nats.url] });
  closing.push(() => handle.drain());
  const engine = await createWebhookEngine({
    nats: handle,
    settings: testSettings,
    config: configOf(),
    log: memoryLog().log,
    podId: name,
  });
  closing.push(() => engine.stop(0));
  const messages = createPodMessages(handle, createLayout(testSettings.streams.prefix), engine.pods.own);
  const server = metricsServerOver({ eu: store }, { now: () => nowMs, pods: { ...messages, ...engine.pods } });
  closing.push(() => server.close());
  const limits: Partial<ClassLimits> = { requestsPerSecond: 10, burst: 20, maxConcurrent: 1_000 };
  const { classDefaults } = server.config;
  server.apply({ ...server.config, classDefaults: { ...classDefaults, A: { ...classDefaults.A, ...limits } } });
  return { server, livePods: () => engine.pods.live() };
}

async function startPods(): Promise<{ readonly pods: readonly Pod[]; readonly nats: NatsServerHandle }> {
  const nats = await startNatsServer();
  closing.push(() => nats.stop());
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a"] }))));
  closing.push(() => store.close());
  const pods: Pod[] = [];
  for (const name of ["pod-a", "pod-b", "pod-c"]) pods.push(await startPod(name, nats, store.url));
  await waitFor(() => pods.every(({ livePods }) => livePods().length === 3), {
    timeoutMs: 20_000,
    what: "pods that know each other",
  });
  return { pods, nats };
}

const url =
  "/v1/metrics/query?metric=lag&filter[tenant]=brand-a&step=1m&from=2026-01-01T11:00:00Z&to=2026-01-01T12:00:00Z";

/** Asks all pods in turn for so long; how many were let in, and for how long it really was. */
async function hammer(
  pods: readonly Pod[],
  forMs: number,
): Promise<{ readonly admitted: number; readonly seconds: number }> {
  const startMs = performance.now();
  let admitted = 0;
  while (performance.now() - startMs < forMs) {
    const answers = await Promise.all(pods.map(({ server }) => server.get(url)));
    admitted += answers.filter(({ status }) => status === 200).length;
    const others = answers.filter(({ status }) => status !== 200 && status !== 429);
    expect(others).toEqual([]);
    await sleep(10);
  }
  return { admitted, seconds: (performance.now() - startMs) / 1_000 };
}

describe("three pods under one client of 10 requests a second and a burst of 20", () => {
  test("admit its quota together, and one pod's share each while NATS is unreachable", async () => {
    const { pods, nats } = await startPods();
    // The buckets of pods that have just come are not full: a burst comes together in two seconds.
    const left = async (): Promise<number> =>
      Number((await pods[0]?.server.get(url))?.headers["x-ratelimit-remaining"]);
    await waitFor(async () => (await left()) >= 18, { timeoutMs: 20_000, pollMs: 400, what: "a full bucket" });
    const first = await hammer(pods, isSoak ? 60_000 : 10_000);
    const quota = 20 + 10 * first.seconds;
    expect(first.admitted).toBeGreaterThanOrEqual(quota * 0.9);
    expect(first.admitted).toBeLessThanOrEqual(quota * 1.1);

    await nats.kill9();
    const alone = await hammer(pods, 4_000);
    expect(alone.admitted).toBeGreaterThanOrEqual(10 * alone.seconds * 0.9);
    expect(alone.admitted).toBeLessThanOrEqual((20 + 10 * alone.seconds) * 1.1);
  });
});
