import { afterAll, beforeAll, expect, test } from "vitest";
import type { SloConfig } from "../../../../crds/config.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { remoteWrite } from "../../../support/remote-write.ts";
import { metricsServerOver, type MetricsServer } from "../../http/routes/metrics-server.ts";
import { startStoreProxy, type StoreProxy } from "../../stores/store-proxy.ts";
import { metricConfig } from "../oracle/universe.ts";

/** Repeated reports on objectives over time slices: what a real Prometheus is asked for, and what is charged. */

const minuteMs = 60_000;
const startMs = Date.parse("2026-06-30T12:00:40Z");
const sliceSeconds = 300;
const sliceMs = sliceSeconds * 1_000;
/** Points younger than this may still change. */
const settleSeconds = 120;
const labels = { tenant: "brand-a", env: "prod", service: "api" };

const objective = (name: string, windowDays: number): SloConfig => ({
  name,
  domain: "queues",
  metric: "consumer_lag",
  objective: 0.9,
  counts: "Good",
  over: { operator: "AtMost", threshold: 50, sliceSeconds },
  windowDays,
  minimumEvents: 100,
  burnRates: [9, 6, 3, 1],
  public: false,
});

let store: PrometheusHandle;
let proxy: StoreProxy;
let server: MetricsServer;
let clockMs = startMs;
const writeSamples = (values: readonly (readonly [ms: number, value: number])[]): Promise<void> =>
  remoteWrite(store.url, [{ name: "consumer_lag", labels, samples: values.map(([ms, value]) => ({ ms, value })) }]);

beforeAll(async () => {
  store = await startPrometheus({ config: "storage:\n  tsdb:\n    out_of_order_time_window: 100d\n" });
  const minutes = 4 * 1_440;
  const first = Math.floor(startMs / minuteMs) * minuteMs - minutes * minuteMs;
  await writeSamples(Array.from({ length: minutes }, (_, index) => [first + index * minuteMs, index % 70]));
  proxy = await startStoreProxy(store.url);
  server = metricsServerOver({ eu: proxy.url }, { now: () => clockMs });
  const catalogs = server.config.catalogs.map((catalog) => ({
    ...catalog,
    slos: [],
    newerSlos: [objective("week", 7), objective("quarter", 90)],
    stores: catalog.stores.map((own) => ({ ...own, settleSeconds })),
    metrics: [
      metricConfig("consumer_lag", catalog.stores, {
        source: { kind: "gauge", name: "consumer_lag", matchers: [] },
        intervalSeconds: { eu: 60 },
        minStepSeconds: 60,
        defaultAggregation: "max",
      }),
    ],
  }));
  server.apply({ ...server.config, catalogs });
}, 60_000);
afterAll(async () => {
  await server?.close();
  await proxy?.stop();
  await store?.stop();
});

interface Report {
  readonly events: { readonly good: number; readonly total: number };
  readonly cost: number;
  readonly estimate: number;
  /** Queries of slices, by the end of their first and last one. */
  readonly ranges: readonly (readonly [firstMs: number, lastMs: number])[];
}

async function reportAt(ms: number, name: string, route = "slo"): Promise<Report> {
  clockMs = ms;
  const before = proxy.paths.length;
  const response = await server.get(`/v1/metrics/${route}?slo=${name}&tenant=brand-a`);
  expect([response.status, name]).toEqual([200, name]);
  const { data } = response.json() as { readonly data: readonly Report[] };
  const ranges = proxy.forms.slice(before).flatMap((form) => {
    const query = form.get("query") ?? "";
    // One point is an instant query. Others are that of the newest sample, and probes of the store.
    const isOther = query.includes("timestamp(") || !query.includes("consumer_lag");
    const ends = [form.get("start") ?? form.get("time"), form.get("end") ?? form.get("time")] as const;
    return isOther ? [] : [[Number(ends[0]) * 1_000, Number(ends[1]) * 1_000] as const];
  });
  const [cost, estimate] = [response.headers["x-query-cost"], response.headers["x-query-cost-estimate"]].map(Number);
  return { events: data[0]?.events ?? { good: 0, total: 0 }, cost: cost ?? 0, estimate: estimate ?? 0, ranges };
}

const seconds = (count: number): number => count * 1_000;

test.each([
  ["week", 7],
  ["quarter", 90],
] as const)("a repeated report of a %s asks the store for its new end only", async (name, days) => {
  const beginMs = startMs + (name === "week" ? 0 : 2 * 86_400_000);
  const first = await reportAt(beginMs, name);
  expect(first.ranges.length).toBeGreaterThanOrEqual(days);
  expect([first.cost, first.estimate]).toEqual([days * 288, days * 288]);
  // Within one slice, after the lifetime of the response.
  const repeated = await reportAt(beginMs + seconds(31), name);
  const endMs = Math.floor(beginMs / sliceMs) * sliceMs;
  expect(repeated.ranges).toEqual([[endMs, endMs]]);
  expect(repeated.events).toEqual(first.events);
  // The next slice. The one before had not settled.
  const moved = await reportAt(beginMs + seconds(280), name);
  expect(moved.ranges).toEqual([[endMs, endMs + sliceMs]]);
  expect([moved.cost, moved.estimate]).toEqual([2, days * 288]);
});

test("a repeated history asks the store for its new end only", async () => {
  const beginMs = startMs + 4 * 86_400_000;
  const first = await reportAt(beginMs, "week", "slo/history");
  expect(first.ranges.length).toBeGreaterThanOrEqual(14);
  const moved = await reportAt(beginMs + seconds(280), "week", "slo/history");
  expect([moved.ranges.length, moved.cost]).toEqual([1, 2]);
});

test("a sample that arrives late, while its slice may still change, is counted half a minute later", async () => {
  const beginMs = Math.floor(startMs / sliceMs) * sliceMs + seconds(40);
  // The samples of the last slice up to now are below the threshold, and the next report is one of new data.
  const lateMs = beginMs - seconds(41);
  const before = await reportAt(beginMs + 600_000, "week");
  await writeSamples([[lateMs + 600_000, 20]]);
  const known = await reportAt(beginMs + 600_000 + seconds(31), "week");
  expect([before.events, known.events].map(({ total }) => total)).toEqual([
    before.events.total,
    before.events.total + 1,
  ]);
});
