import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig, StoreFlavour } from "../../../crds/config.ts";
import { freePort } from "../../support/free-port.ts";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { remoteWrite } from "../../support/remote-write.ts";
import { startServerProcess } from "../../support/server-process.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { metricsServerOver, type MetricsServer } from "../http/routes/metrics-server.ts";
import { startStoreProxy } from "../stores/store-proxy.ts";
import { configOf, metricConfig, storeConfig, wideLimits } from "./oracle/universe.ts";

/** Caches in front of stores that round the times of a query to its step: no value is that of another time. */

const nowMs = Date.parse("2026-01-02T12:00:30Z");
const tenSecondsMs = 10_000;
const samples = 900;
const startMs = nowMs - samples * tenSecondsMs;

interface Rounding {
  readonly url: string;
  stop(): Promise<void>;
}

/** A real query frontend, with its defaults. */
async function startThanos(target: string): Promise<Rounding> {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const process = await startServerProcess({
    name: "thanos query-frontend",
    command: await resolveTool("thanos"),
    args: [
      "query-frontend",
      `--http-address=${address}`,
      `--query-frontend.downstream-url=${target}`,
      "--log.level=warn",
    ],
    ready: async () => (await fetch(`${url}/-/ready`)).ok,
  });
  return { url, stop: () => process.stop() };
}

let store: PrometheusHandle;
let direct: MetricsServer;
beforeAll(async () => {
  store = await startPrometheus();
  const labels = { tenant: "brand-a", env: "prod", service: "api" };
  const at = (value: (index: number) => number) =>
    Array.from({ length: samples }, (_, index) => ({ ms: startMs + index * tenSecondsMs, value: value(index) }));
  await remoteWrite(store.url, [
    { name: "lag", labels, samples: at((index) => index * index) },
    { name: "good_total", labels, samples: at((index) => index * 90) },
    { name: "all_total", labels, samples: at((index) => index * 100) },
  ]);
  direct = serverOver(store.url, "Prometheus");
}, 60_000);
afterAll(async () => {
  await direct.close();
  await store.stop();
});

function serverOver(url: string, flavour: StoreFlavour): MetricsServer {
  const server = metricsServerOver({}, { now: () => nowMs });
  server.apply(configFor(url, flavour));
  return server;
}

function configFor(url: string, flavour: StoreFlavour): RuntimeConfig {
  const configs = [storeConfig({ name: "eu", region: "eu", url, flavour })];
  const often = { intervalSeconds: { eu: 10 }, minStepSeconds: 10 };
  const series = (name: string) => ({ name, matchers: [] });
  const success = { kind: "ratio", increase: "Extrapolated" } as const;
  const base = configOf(configs, [
    metricConfig("lag", configs, { source: { kind: "gauge", ...series("lag") }, ...often }),
    metricConfig("success", configs, {
      source: { ...success, numerator: series("good_total"), denominator: series("all_total") },
      aggregations: ["avg"],
      ...often,
    }),
  ]);
  const slo = {
    name: "success",
    domain: "orders",
    metric: "success",
    objective: 0.8,
    counts: "Good",
    windowDays: 1,
    minimumEvents: 1,
    burnRates: [9, 6, 3, 1],
    public: false,
  } as const;
  return {
    ...base,
    classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits },
    catalogs: base.catalogs.map((catalog) => ({ ...catalog, slos: [slo] })),
  };
}

const scoped = "filter%5Btenant%5D=brand-a";
const seconds = nowMs / 1_000;
/** Times of a range in PromQL that begin at no multiple of the step. */
const offGrid = `start=${seconds - 653}&end=${seconds - 53}&step=60`;
const onGrid = `start=${seconds - 630}&end=${seconds}&step=30`;
const lag = 'lag{tenant="brand-a"}';
const promql = (query: string, times: string): string =>
  `/prometheus/api/v1/query_range?query=${encodeURIComponent(query)}&${times}`;

describe.each([
  ["a proxy that rounds as Thanos does", (url: string) => startStoreProxy(url, { isRounding: true })],
  ["a Thanos query frontend with its defaults", startThanos],
] as const)("over %s", (_name, start) => {
  let rounding: Rounding;
  let server: MetricsServer;
  beforeAll(async () => {
    rounding = await start(store.url);
    server = serverOver(rounding.url, "Thanos");
  }, 600_000);
  afterAll(async () => {
    await server.close();
    await rounding.stop();
  });

  test.each([
    ["an instant", `/v1/metrics/instant?metric=lag&${scoped}&ts=2026-01-02T11:59:50Z&downsample=5m`],
    [
      "an instant in PromQL",
      `/prometheus/api/v1/query?query=${encodeURIComponent(`max(max_over_time(${lag}[7m]))`)}&time=${seconds - 77}`,
    ],
    ["an objective", "/v1/metrics/slo?tenant=brand-a"],
    ["a range at multiples of its step", `/v1/metrics/query?metric=lag&${scoped}&from=2026-01-02T11:00:00Z&step=1m`],
    ["a range in PromQL at multiples of its step", promql(`sum(avg_over_time(${lag}[1m]))`, onGrid)],
  ])("the values of %s are those of the store itself", async (_what, path) => {
    const [actual, wanted] = [await server.get(path), await direct.get(path)];
    const valuesOf = (text: string): unknown => (JSON.parse(text) as { readonly data: unknown }).data;
    expect([actual.status, valuesOf(actual.text)]).toEqual([200, valuesOf(wanted.text)]);
    expect(wanted.text).toMatch(/"(?:value|values|points|sli)":/u);
  });

  test("a range at other times is an error with the setting, and the circuit breaker stays closed", async () => {
    for (let turn = 0; turn < 7; turn += 1) {
      const answer = await server.get(promql(`avg(avg_over_time(${lag}[5m]))`, offGrid));
      expect([answer.status, answer.text]).toEqual([503, expect.stringContaining("align-range-with-step")]);
      expect(answer.headers).not.toHaveProperty("x-suggested-step");
    }
    expect((await server.get(promql(`sum(avg_over_time(${lag}[1m]))`, onGrid))).status).toBe(200);
    expect((await direct.get(promql(`avg(avg_over_time(${lag}[5m]))`, offGrid))).status).toBe(200);
  });
});
