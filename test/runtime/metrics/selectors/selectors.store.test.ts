import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import type { SelectorsResult } from "../../../../runtime/metrics/request/selector.ts";
import { connectNats } from "../../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { createPodMessages } from "../../../../runtime/nats/messages/pod-messages.ts";
import { createWebhookEngine } from "../../../../runtime/webhooks/engine.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { type PrometheusHandle, startPrometheus } from "../../../support/prometheus.ts";
import { stallMsMax, waitFor } from "../../../support/wait.ts";
import { configOf as partnersOf, memoryLog, testSettings } from "../../webhooks/engine-fixture.ts";
import { type GeneratedSeries, openMetrics } from "../oracle/generated-series.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "../oracle/universe.ts";
import { selector, minuteMs, requestOf } from "./selector-stores.ts";

/** Two pods over a real Prometheus, which share the quota of a client over a real NATS. */

const startMs = Date.parse("2026-01-01T00:00:00Z");
const nowMs = startMs + 60 * minuteMs;
const burst = 12;
const closing: (() => Promise<unknown>)[] = [];
let pods: readonly MetricsApi[];

beforeAll(async () => {
  const [nats, store] = await Promise.all([
    startNatsServer(),
    startPrometheus({ openMetrics: openMetrics(samples()) }),
  ]);
  closing.push(
    () => nats.stop(),
    () => store.stop(),
  );
  const started = [await startPod("pod-a", nats, store), await startPod("pod-b", nats, store)];
  await waitFor(() => started.every(({ livePods }) => livePods().length === 2), {
    timeoutMs: stallMsMax,
    what: "pods that know each other",
  });
  pods = started.map(({ api }) => api);
});

afterAll(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function samples(): readonly GeneratedSeries[] {
  return ["lag", "payouts"].flatMap((name, metric) =>
    ["a", "b"].map((service, own) => ({
      name,
      labels: { tenant: "brand-a", env: "prod", service },
      samples: Array.from({ length: 240 }, (_, index) => ({
        ms: startMs + (index + 1) * 15_000,
        value: 100 * metric + 10 * own + (index % 7),
      })),
      shard: 0 as const,
    })),
  );
}

async function startPod(podId: string, nats: NatsServerHandle, store: PrometheusHandle) {
  const handle = await connectNats({ servers: [nats.url] });
  closing.push(() => handle.drain());
  const { log } = memoryLog();
  const engine = await createWebhookEngine({ nats: handle, settings: testSettings, config: partnersOf(), log, podId });
  closing.push(() => engine.stop(0));
  const messages = createPodMessages(handle, createLayout(testSettings.streams.prefix), engine.pods.own);
  const stores = [storeConfig({ name: "eu", region: "eu", url: store.url })];
  const metrics = ["lag", "payouts"].map((id) =>
    metricConfig(id, stores, { source: { kind: "gauge", name: id, matchers: [] } }),
  );
  // A tenth of a token in a hundred seconds: nothing refills while the test runs.
  const A = { ...wideLimits, requestsPerSecond: 0.001, burst };
  const config = { ...configOf(stores, metrics), classDefaults: { A, B: A, C: A } };
  const shared = { ...messages, ...engine.pods };
  const api = createMetricsApi({ config, log: { warn: () => undefined }, deadlineMs: stallMsMax, pods: shared });
  closing.push(() => api.stop());
  return { api, livePods: () => engine.pods.live() };
}

const never = (): AbortSignal => new AbortController().signal;
const times = { startMs: nowMs - 30 * minuteMs, endMs: nowMs, stepMs: 5 * minuteMs };
const request = requestOf(
  [
    selector("lag", { groupBy: ["service"], widthSeconds: 300 }),
    selector("payouts", { widthSeconds: 300 }),
    selector("payouts", { measure: { kind: "aggregation", aggregation: "max" }, widthSeconds: 600 }),
  ],
  { times },
);

const ask = (api: MetricsApi, client: string): Promise<SelectorsResult> =>
  api.selectors(request, { ...everyone, client }, never(), { correlationId: "id-1", nowMs });

async function natively(api: MetricsApi, ...pairs: readonly (readonly [string, string])[]): Promise<unknown> {
  const window = [
    ["filter[tenant]", "brand-a"],
    ["from", new Date(times.startMs - 5 * minuteMs).toISOString()],
    ["to", new Date(nowMs).toISOString()],
    ["step", "5m"],
  ] as const;
  const caller = { ...everyone, client: "native" };
  const answer = await api.query(parameters([...pairs, ...window]), caller, never(), { correlationId: "id-2", nowMs });
  const { data } = answer.body as {
    readonly data: readonly { readonly points: readonly (readonly [string, number])[] }[];
  };
  return data.map(({ points }) => points.map(([, value]) => value));
}

test("leaves of a width that is the step are the points of native queries, in both pods", async () => {
  for (const api of pods) {
    const { selectors, isPartial, stamps } = await ask(api, "values");
    expect([isPartial, stamps.count]).toEqual([false, 7]);
    const values = selectors.map(({ series }) => series.map((one) => [...one.values]));
    expect(values[0]).toEqual(await natively(api, ["metric", "lag"], ["agg", "avg"], ["group_by", "service"]));
    expect(values[1]).toEqual(await natively(api, ["metric", "payouts"], ["agg", "avg"]));
    // The greatest of any ten minutes.
    expect(values[2]).toEqual([Array.from({ length: 7 }, () => 116)]);
  }
});

test("two pods admit one burst of requests for leaves together", async () => {
  const outcomes: (string | undefined)[] = [];
  for (let turn = 0; turn < 2 * burst; turn += 1) {
    const answer = ask(pods[turn % pods.length] as MetricsApi, "shared");
    const refusal = await answer.then(
      () => undefined,
      (error: unknown) => (error instanceof ApiError ? error.code : Promise.reject(error)),
    );
    outcomes.push(refusal);
  }
  expect(new Set(outcomes)).toEqual(new Set([undefined, "rate_exceeded"]));
  // Each pod was asked for a whole burst. Allocated tokens that a pod keeps count as spent.
  expect(outcomes.filter((code) => code === undefined).length).toBeLessThanOrEqual(burst);
});
