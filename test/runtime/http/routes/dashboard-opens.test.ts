import { afterEach, describe, expect, test } from "vitest";
import { classDefaults } from "../../../../crds/compile/class-defaults.ts";
import { nowMs, simulated, startMetricsServer, type MetricsServer } from "./metrics-server.ts";

/** A dashboard under the limits that a class has without a quota. Its client is asked for everything at once. */

const closing: MetricsServer[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

const api = "/prometheus/api/v1";
const nowSeconds = Math.floor(nowMs / 1_000);
const daySeconds = 86_400;

const panels = Array.from({ length: 20 }, (_, index) => {
  const expression = `avg by (service) (avg_over_time(lag{tenant="brand-a"}[${index % 4 === 0 ? "5m" : "10m"}]))`;
  const times = `start=${nowSeconds - daySeconds - index}&end=${nowSeconds}&step=600`;
  return `${api}/query_range?query=${encodeURIComponent(expression)}&${times}`;
});
const lookUps = Array.from({ length: 20 }, (_, index) =>
  index % 2 === 0 ? `${api}/query?query=1%2B1&time=${nowSeconds}` : `${api}/label/__name__/values`,
);

describe("a dashboard of 20 panels over a day that opens with its look-ups", () => {
  test.each(["A", "B", "C"] as const)("fits the defaults of class %s", async (queryClass) => {
    const server = await startMetricsServer({ eu: simulated(() => ({ services: ["a", "b"] })) }, { elapsed: () => 0 });
    closing.push(server);
    const { config } = server;
    const catalogs = config.catalogs.map((catalog) => ({
      ...catalog,
      metrics: catalog.metrics.map((metric) => ({ ...metric, queryClass })),
    }));
    server.apply({ ...config, catalogs, classDefaults });
    const answers = await Promise.all([...panels, ...lookUps].map((url) => server.get(url)));
    const others = answers.filter(({ status }) => status !== 200).map(({ status, text }) => `${status} ${text}`);
    expect(others).toEqual([]);
  });
});
