import { array, assert, asyncProperty, constantFrom, integer, oneof, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { usualCaches } from "../../../../limits/memory-plan.ts";
import { createTimeSlices } from "../../../../limits/clock.ts";
import { cachedStores } from "../../../../runtime/metrics/cache/cached-stores.ts";
import { createReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { makePlan, type Plan } from "../../../../runtime/metrics/planning/plan.ts";
import { makeQuery } from "../../../../runtime/metrics/planning/query.ts";
import { createFinishedMetrics, type FinishedMetrics } from "../../../../runtime/metrics/reads/finish-metric.ts";
import { runPlan } from "../../../../runtime/metrics/reads/run-plan.ts";
import { resolveSelectorWindow } from "../../../../runtime/metrics/request/selector-window.ts";
import type { StoreSeries } from "../../../../runtime/stores/prometheus/matrix.ts";
import type { PrometheusClient, RangeGrid } from "../../../../runtime/stores/prometheus/prometheus-client.ts";
import type { Store, Stores } from "../../../../runtime/stores/store.ts";
import { runsOf } from "../../../support/soak.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "../oracle/universe.ts";

/** Points of any width and phase, through one cache, are those of a fresh read. */

const noonMs = Date.parse("2026-01-01T12:00:00Z");
const sampleMs = 5_000;
const lifetimes = { settledMs: 60_000, tailMs: 60_000 };
const configs = [storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" })];
const metrics = [metricConfig("lag", configs, { source: { kind: "gauge", name: "lag", matchers: [] } })];
const queryContext = {
  catalog: indexCatalogs(configOf(configs, metrics).catalogs),
  quotas: { quotas: [], classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } },
};

/** The sample at a time: a whole number, so that sums are exact; none at every eleventh time of a series. */
function sampleOf(series: number, ms: number): number | undefined {
  const place = Math.imul(ms / sampleMs + series * 7_919, 2_654_435_761) >>> 8;
  return place % 11 === 0 ? undefined : place % 1_009;
}

const functions: Readonly<Record<string, (samples: readonly number[]) => number>> = {
  sum_over_time: (samples) => samples.reduce((sum, value) => sum + value, 0),
  count_over_time: (samples) => samples.length,
  avg_over_time: (samples) => samples.reduce((sum, value) => sum + value, 0) / samples.length,
  min_over_time: (samples) => Math.min(...samples),
  max_over_time: (samples) => Math.max(...samples),
};

/** What the store answers with: each point covers the range that the query names. */
function seriesOf(query: string, { startMs, stepMs, count, rangeMs, alignedMs }: RangeGrid): StoreSeries {
  const [, name = "", width] = /(\w+_over_time)\(.*\[(\d+)ms\]/u.exec(query) ?? [];
  expect(Number(width)).toBe(rangeMs);
  // Downsampled samples of a store may be as coarse.
  if (alignedMs !== undefined)
    expect([startMs % alignedMs, stepMs % alignedMs, rangeMs % alignedMs]).toEqual([0, 0, 0]);
  const [values, present] = [new Float64Array(count), new Uint8Array(count)];
  for (let index = 0; index < count; index += 1) {
    const endMs = startMs + index * stepMs;
    const samples: number[] = [];
    for (let ms = endMs; ms > endMs - rangeMs; ms -= sampleMs) {
      const sample = sampleOf(0, ms);
      if (sample !== undefined) samples.push(sample);
    }
    if (samples.length === 0) continue;
    values[index] = functions[name]?.(samples) ?? Number.NaN;
    present[index] = 1;
  }
  return { labels: {}, values, present };
}

const client: Partial<PrometheusClient> = {
  range: async (query, grid) => ({ series: [seriesOf(query, grid)], warning: "none" }),
  single: async () => undefined,
};
const store: Partial<Store> = {
  config: configs[0] as Store["config"],
  client: client as PrometheusClient,
  identity: "eu",
  run: (work) => work(),
  capabilities: async () => ({ boundary: "LeftOpen", increases: "Extrapolated", anchored: true, native: true }),
};
const stores: Stores = { get: () => store as Store, list: () => [] };

interface Asked {
  readonly aggregation: string;
  readonly smallest: number;
  readonly times: Parameters<typeof resolveSelectorWindow>[0];
  readonly width: number | undefined;
}

function planOf({ aggregation, smallest, times, width }: Asked): Plan {
  const params = parameters([
    ["metric", "lag"],
    ["agg", aggregation],
    ["filter[tenant]", "brand-a"],
  ]);
  const query = makeQuery(params, everyone, queryContext, noonMs);
  const rules = { nowMs: noonMs, stepSecondsMin: smallest, limits: wideLimits };
  return makePlan({ ...query, window: resolveSelectorWindow(times, width, rules).window }, noonMs);
}

const slices = createTimeSlices();

async function valuesOf(plan: Plan, from: Stores, finished: FinishedMetrics) {
  const result = await runPlan(plan, from, {
    deadlineMs: 60_000,
    signal: new AbortController().signal,
    nowMs: noonMs,
    slices,
    finished,
    correlationId: "test",
    showsMessages: false,
    observe: () => undefined,
  });
  return result.series.map(({ values }) => [...values]);
}

const asked = record({
  isInstant: constantFrom(false, false, false, true),
  startSeconds: oneof(constantFrom(0, 10, 20, 60, 80), integer({ min: 0, max: 130 })),
  step: constantFrom(15, 30, 60, 60, 120, 300),
  count: integer({ min: 1, max: 40 }),
  width: constantFrom(undefined, undefined, 60, 75, 120, 300),
});
/** Narrow points, so that wide ones of some phases can be rolled up from them. */
const first = { isInstant: false, startSeconds: 20, step: 30, count: 150, width: undefined };
const sequence = record({
  smallest: constantFrom(10, 10, 10, 60),
  aggregation: constantFrom("avg", "min", "max", "sum"),
  requests: array(asked, { minLength: 2, maxLength: 20 }),
});

describe("points of leaves through the cache", () => {
  test("are those of a fresh read, in any order of windows, widths, steps and phases", async () => {
    const sources = { hit: 0, finer: 0 };
    await assert(
      asyncProperty(sequence, async ({ smallest, aggregation, requests }) => {
        const [cache, finished] = [createReadCache(64 * 1024 * 1024), createFinishedMetrics(usualCaches.finished)];
        for (const { isInstant, startSeconds, step, count, width } of [first, ...requests]) {
          const startMs = noonMs - 3_600_000 + startSeconds * 1_000;
          const stepMs = step * 1_000;
          const times = isInstant ? { timeMs: startMs } : { startMs, endMs: startMs + count * stepMs, stepMs };
          const plan = planOf({ aggregation, smallest, times, width });
          const cached = cachedStores(stores, cache, { lifetimes, nowMs: noonMs });
          const actual = await valuesOf(plan, cached.stores, finished);
          expect(actual).toEqual(await valuesOf(plan, stores, createFinishedMetrics(usualCaches.finished)));
          const counts = cached.counts();
          for (const source of ["hit", "finer"] as const) sources[source] += counts[source];
        }
      }),
      { seed: 191, numRuns: runsOf(1_000) },
    );
    expect(sources.hit).toBeGreaterThan(runsOf(5_000));
    expect(sources.finer).toBeGreaterThan(runsOf(100));
  });
});
