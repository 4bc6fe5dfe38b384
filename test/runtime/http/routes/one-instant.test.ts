import { afterEach, expect, test } from "vitest";
import { simulated, startMetricsServer, type ScriptedMetricsServer } from "./metrics-server.ts";

/**
 * Averages of a store that counts on, where other queries have read one of their two parts before.
 */

const closing: ScriptedMetricsServer[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const window = "filter[tenant]=brand-a&filter[region]=eu&from=2026-01-01T11:59:00Z&to=2026-01-01T12:00:00Z&step=1m";
const valueOf = (body: unknown): unknown =>
  (body as { readonly data: readonly { readonly points: unknown[][] }[] }).data[0]?.points[0]?.[1];

test.each([
  ["a histogram", "metric=latency&agg=sum", "metric=latency&agg=avg"],
  ["a ratio", "metric=payments&agg=sum", "metric=login&agg=avg"],
])(
  "the average of %s is made of what its store held at one instant, whatever was read before",
  async (_kind, before, average) => {
    let count = 1;
    const server = await startMetricsServer(
      { eu: simulated(() => ({ services: ["a"], value: () => count })) },
      { now: () => nowMs },
    );
    closing.push(server);
    const { config } = server;
    const A = { ...config.classDefaults.A, memorySeconds: 30, hotTailSeconds: 30 };
    // The numerator of one metric is the whole of another.
    const catalogs = config.catalogs.map((catalog) => ({
      ...catalog,
      metrics: catalog.metrics.map((metric) =>
        metric.id === "payments" ? { ...metric, source: { ...metric.source, name: "logins_total" } } : metric,
      ),
    })) as unknown as typeof config.catalogs;
    server.apply({ ...config, catalogs, classDefaults: { ...config.classDefaults, A } });
    expect(valueOf((await server.get(`/v1/metrics/query?${before}&${window}`)).json())).toBe(1);
    count = 2;
    // Both parts count the same.
    expect(valueOf((await server.get(`/v1/metrics/query?${average}&${window}`)).json())).toBe(1);
  },
);
