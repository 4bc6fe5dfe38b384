import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogChecksAnswer } from "../../../api/catalog.ts";
import type { MatcherConfig, RuntimeConfig, StoreFlavour } from "../../../crds/config.ts";
import { createMetricsApi } from "../../../runtime/metrics/api/create-metrics-api.ts";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { remoteWrite } from "../../support/remote-write.ts";
import { startVictoriaMetrics } from "../../support/victoria-metrics.ts";
import { waitFor } from "../../support/wait.ts";
import { metricsServerOver, type MetricsServer } from "../http/routes/metrics-server.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "./oracle/universe.ts";

/** Names of Prometheus 3 in a source: those of OpenTelemetry, and characters that a text in PromQL must escape. */

const stepMs = 15_000;
const samples = 120;
const nowMs = Math.floor(Date.now() / 60_000) * 60_000;
const requests = "http.server.requests";
const odd = 'temp "°C" \\ {x}';
const environment = "deployment.environment";
const oddLabel = 'who "is" it, or=not}';

let store: PrometheusHandle;
let server: MetricsServer;
beforeAll(async () => {
  store = await startPrometheus();
  const at = (value: (index: number) => number) =>
    Array.from({ length: samples }, (_, index) => ({
      ms: nowMs - (samples - 1 - index) * stepMs,
      value: value(index),
    }));
  const series = (name: string, service: string, labels: object, value: (index: number) => number) => ({
    name,
    labels: { tenant: "brand-a", "service.name": service, [environment]: "prod", ...labels },
    samples: at(value),
  });
  await remoteWrite(store.url, [
    series(requests, "api", { "http.method": "GET" }, (index) => index * 15),
    series(requests, "web", { "http.method": "GET" }, (index) => index * 30),
    series(requests, "web", { "http.method": "POST" }, (index) => index * 3_000),
    series(odd, "api", { [oddLabel]: "ops" }, () => 21),
    ...["0.1", "+Inf"].map((le, place) =>
      series("http.duration_bucket", "api", { le }, (index) => index * (place + 1)),
    ),
    series("http.duration_count", "api", {}, (index) => index * 2),
    series("http.duration_sum", "api", {}, (index) => index),
  ]);
  server = metricsServerOver({}, { now: () => nowMs });
  server.apply(configFor(store.url));
}, 60_000);
afterAll(async () => {
  await server.close();
  await store.stop();
});

function configFor(url: string, flavour: StoreFlavour = "Prometheus"): RuntimeConfig {
  const labelMap = { service: "service.name", environment };
  const configs = [storeConfig({ name: "eu", region: "eu", url, flavour }, { labelMap })];
  const matcher = (label: string, value: string): readonly MatcherConfig[] => [{ label, op: "Equal", value }];
  const often = { intervalSeconds: { eu: 15 }, minStepSeconds: 60 };
  const get = { name: requests, matchers: matcher("http.method", "GET") };
  const base = configOf(configs, [
    metricConfig("requests", configs, { source: { kind: "counter", increase: "Extrapolated", ...get }, ...often }),
    metricConfig("temperature", configs, {
      source: { kind: "gauge", name: odd, matchers: matcher(oddLabel, "ops") },
      ...often,
    }),
    metricConfig("share", configs, {
      source: {
        kind: "ratio",
        increase: "Extrapolated",
        numerator: get,
        denominator: { name: requests, matchers: [] },
      },
      aggregations: ["avg"],
      ...often,
    }),
    metricConfig("duration", configs, {
      source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "http.duration", matchers: [] },
      aggregations: ["p50"],
      defaultAggregation: "p50",
      ...often,
    }),
  ]);
  return { ...base, classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } };
}

interface Body {
  readonly data: readonly { readonly labels?: Readonly<Record<string, string>>; readonly points: readonly unknown[] }[];
}

const scoped = "filter%5Btenant%5D=brand-a&step=5m";
const from = `from=${new Date(nowMs - 900_000).toISOString()}&to=${new Date(nowMs).toISOString()}`;
const query = (more: string) => server.get(`/v1/metrics/query?${scoped}&${from}&${more}`);

describe("names of Prometheus 3", () => {
  test("are read, filtered and grouped under the labels of the catalog", async () => {
    const grouped = await query("metric=requests&agg=sum&group_by=service,environment");
    expect(grouped.status).toBe(200);
    const text = JSON.stringify(grouped.json());
    expect(text).toContain('"service":"api"');
    expect(text).toContain('"service":"web"');
    expect(text).toContain('"environment":"prod"');
    expect(text).not.toContain("service.name");
    const filtered = await query("metric=requests&agg=sum&filter%5Bservice%5D=web");
    expect(JSON.stringify(filtered.json())).toContain(String((300_000 / stepMs) * 30));
  });

  test.each([
    ["temperature", "21"],
    ["share", "0.0099009900990099"],
    ["duration", "0.1"],
  ])("%s has the value of its series", async (metric, value) => {
    const response = await query(`metric=${metric}&group_by=service`);
    const [status, body] = [response.status, response.json()];
    expect(status).toBe(200);
    expect(JSON.stringify((body as Body).data)).toContain(value);
  });

  test("match the catalog in its comparison with the store", async () => {
    const api = createMetricsApi({ config: configFor(store.url), log: { warn: () => undefined }, checksMs: 1_000 });
    try {
      const found = await waitFor(
        async () => {
          const { body } = await api.catalogChecks(parameters([]), everyone, { correlationId: "c", nowMs: Date.now() });
          const { data } = body as CatalogChecksAnswer;
          const all = data.map(({ metric_id: id, status, message }) => `${id} ${status} ${message}`);
          return all.some((line) => line.includes("not compared")) ? undefined : all;
        },
        { timeoutMs: 20_000, what: "the first comparison" },
      );
      expect(found).toEqual(["duration True ", "requests True ", "share True ", "temperature True "]);
    } finally {
      await api.stop();
    }
  });
});

const lacking = "the store does not support quoted label names, which the metric requires";

test("VictoriaMetrics, which has no quoted label names, is named by the warning of the response", async () => {
  const old = await startVictoriaMetrics();
  const other = metricsServerOver({}, { now: () => nowMs });
  try {
    other.apply(configFor(old.url, "VictoriaMetrics"));
    const url = `/v1/metrics/query?${scoped}&${from}&metric=requests&agg=sum&group_by=service`;
    expect(JSON.stringify((await other.get(url)).json())).toContain(lacking);
  } finally {
    await other.close();
    await old.stop();
  }
});
