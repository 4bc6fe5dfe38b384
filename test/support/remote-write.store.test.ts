import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPrometheus, type PrometheusHandle } from "./prometheus.ts";
import { remoteWrite, type WrittenHistogram, type WrittenSeries } from "./remote-write.ts";
import { startVictoriaMetrics, type VictoriaMetricsHandle } from "./victoria-metrics.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const count = 40;
const at = (index: number): number => startMs + index * 15_000;
const endSeconds = at(count - 1) / 1_000;

const exponential = (total: number): WrittenHistogram => ({
  schema: 0,
  sum: total * 10,
  zeroCount: total,
  zeroThreshold: 0.001,
  positive: new Map([
    [1, 2 * total],
    [2, total],
    [5, total],
  ]),
  negative: new Map([[1, total]]),
});
const custom = (total: number): WrittenHistogram => ({
  schema: "custom",
  bounds: [1, 2, 4],
  sum: total * 10,
  zeroCount: 0,
  zeroThreshold: 0,
  positive: new Map([
    [0, total],
    [2, 3 * total],
    [3, total],
  ]),
  negative: new Map(),
});
const floats: WrittenSeries = {
  name: "a_total",
  labels: { who: 'say "hi"\\' },
  samples: Array.from({ length: count }, (_, index) => ({
    ms: at(index),
    value: index === 30 ? ("stale" as const) : index,
  })),
};
const histogramSeries = (name: string, make: (total: number) => WrittenHistogram): WrittenSeries => ({
  name,
  labels: {},
  samples: Array.from({ length: count }, (_, index) => ({ ms: at(index), value: make(index) })),
});

let prometheus: PrometheusHandle;
let victoria: VictoriaMetricsHandle;
beforeAll(async () => {
  [prometheus, victoria] = await Promise.all([
    startPrometheus({ config: "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n" }),
    startVictoriaMetrics(),
  ]);
  await remoteWrite(prometheus.url, [
    floats,
    histogramSeries("exponential", exponential),
    histogramSeries("custom", custom),
  ]);
  await remoteWrite(victoria.url, [floats]);
  await victoria.flush();
});
afterAll(async () => {
  await Promise.all([prometheus?.stop(), victoria?.stop()]);
});

async function ask(url: string, query: string, time = endSeconds): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/api/v1/query`, {
    method: "POST",
    body: new URLSearchParams({ query, time: String(time) }),
  });
  return ((await response.json()) as { readonly data: { readonly result: readonly unknown[] } }).data.result;
}

describe("what is written", () => {
  const written = Array.from({ length: count }, (_, index) => [at(index) / 1_000, String(index)]);

  test("arrives in Prometheus, a stale marker as no sample", async () => {
    const values = written.filter((_, index) => index !== 30);
    expect(await ask(prometheus.url, "a_total[1h]")).toEqual([
      { metric: { __name__: "a_total", ...floats.labels }, values },
    ]);
  });

  test("arrives in VictoriaMetrics, a stale marker as no number", async () => {
    const values = written.map(([seconds, text], index) => [seconds, index === 30 ? "NaN" : text]);
    expect(await ask(victoria.url, "a_total[1h]")).toEqual([
      { metric: { __name__: "a_total", ...floats.labels }, values },
    ]);
  });

  test("has ended for now at a stale marker", async () => {
    expect(await ask(prometheus.url, "a_total", at(30) / 1_000)).toEqual([]);
    expect(await ask(prometheus.url, "a_total", at(31) / 1_000)).toHaveLength(1);
  });

  test("as native histograms has their buckets", async () => {
    const histograms = async (query: string) =>
      (await ask(prometheus.url, query)).map(
        (series) => (series as { readonly histogram: readonly unknown[] }).histogram[1],
      );
    expect(await histograms("exponential")).toEqual([
      {
        count: "234",
        sum: "390",
        buckets: [
          [1, "-2", "-1", "39"],
          [3, "-0.001", "0.001", "39"],
          [0, "1", "2", "78"],
          [0, "2", "4", "39"],
          [0, "16", "32", "39"],
        ],
      },
    ]);
    expect(await histograms("custom")).toEqual([
      {
        count: "195",
        sum: "390",
        buckets: [
          [3, "-Inf", "1", "39"],
          [0, "2", "4", "117"],
          [0, "4", "+Inf", "39"],
        ],
      },
    ]);
  });
});
