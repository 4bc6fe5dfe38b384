import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runsOf } from "../../support/soak.ts";
import { ask, countPoints, isExact, isPercentile, unbounded, type Answered } from "./oracle/ask.ts";
import {
  inStore,
  keyOf,
  kinds,
  quantiles,
  widthOf,
  type AskedSeries,
  type MetricId,
  type SeriesPoints,
} from "./oracle/asked.ts";
import { differences, exactly } from "./oracle/differences.ts";
import { askAsPrometheus, askDirectly, askRange, bucketQuery } from "./oracle/direct.ts";
import { boundOf } from "./oracle/generated-series.ts";
import { layouts, startLayouts, type RunningLayouts } from "./oracle/layouts.ts";
import { askLeaf, atStamps, pointsOf, randomLeaf } from "./oracle/leaf-points.ts";
import { randomQuery } from "./oracle/random-query.ts";
import { recompute, sharedQuantile, type Expected } from "./oracle/recompute.ts";

/**
 * What is claimed of VictoriaMetrics: gauges are exact; increases are those that the store itself answers to the same
 * query, by its own rules, of which a recomputation knows the documented ones.
 */

const seed = 20_260_102;
const metrics: readonly MetricId[] = [
  "queue_lag",
  "flappy",
  "payments",
  "payments_success",
  "latency_ms",
  "slow_gauge",
  "slow",
];
const soakMs = 600_000;

let running: RunningLayouts;
beforeAll(async () => {
  running = await startLayouts("VictoriaMetrics");
});
afterAll(async () => running?.stop());

/** The percentile of the buckets that the store itself answers: of VictoriaMetrics only the increases are taken. */
async function directQuantile(asked: AskedSeries, { grid }: Pick<Answered, "grid">): Promise<SeriesPoints<Expected>> {
  const series = await askRange(running.wholeUrl, bucketQuery(asked, widthOf(grid)), grid);
  const groups = Map.groupBy(series, ({ metric }) => keyOf(asked.groupBy, (label) => metric[inStore(label)]));
  const q = quantiles[asked.agg] ?? Number.NaN;
  const points = [...groups].map(([key, own]) => {
    const byTime = Map.groupBy(
      own.flatMap(({ metric, values = [] }) =>
        values.map(([seconds, text]) => ({ ms: seconds * 1_000, bound: boundOf(metric["le"]), count: Number(text) })),
      ),
      ({ ms }) => ms,
    );
    const quantilesByTime = [...byTime].map(([ms, buckets]) => {
      return [ms, sharedQuantile([new Map(buckets.map(({ bound, count }) => [bound, count]))], q)] as const;
    });
    return [key, new Map(quantilesByTime.filter(([, { low }]) => Number.isFinite(low)))] as const;
  });
  return new Map(points.filter(([, own]) => own.size > 0));
}

describe("an answer from VictoriaMetrics", () => {
  test(
    `equals what the store says itself, over ${runsOf(7_500)} random queries to one to three stores`,
    { timeout: soakMs },
    async () => {
      let points = 0;
      const queries = fc.tuple(fc.constantFrom(...layouts), randomQuery(metrics));
      await fc.assert(
        fc.asyncProperty(queries, async ([layout, query]) => {
          const actual = await ask(running.layout(layout), query);
          points += countPoints(actual);
          const direct = isPercentile(query)
            ? await directQuantile(query, actual)
            : exactly(await askDirectly(running.wholeUrl, query, actual.grid));
          const odd = isPercentile(query) ? unbounded(actual) : [];
          expect([...differences(actual.points, direct, { oracle: "direct", exact: isExact(query) }), ...odd]).toEqual(
            [],
          );
        }),
        { seed, numRuns: runsOf(7_500) },
      );
      expect(points).toBeGreaterThan(runsOf(140_000));
    },
  );

  test(
    `equals a recomputation by its documented rules, over ${runsOf(2_500)} random queries`,
    { timeout: soakMs },
    async () => {
      const queries = fc.tuple(
        fc.constantFrom(...layouts),
        randomQuery(metrics.filter((metric) => kinds[metric].kind !== "histogram")),
      );
      await fc.assert(
        fc.asyncProperty(queries, async ([layout, query]) => {
          const actual = await ask(running.layout(layout), query);
          const recomputed = recompute(query, actual.grid, running.layout(layout).raw, "VictoriaMetrics");
          expect(differences(actual.points, recomputed, { oracle: "recomputed", exact: isExact(query) })).toEqual([]);
        }),
        { seed, numRuns: runsOf(2_500) },
      );
    },
  );

  test(
    `to a leaf of any width, step and phase is what the store says itself, over ${runsOf(400)} random leaves`,
    { timeout: soakMs },
    async () => {
      let points = 0;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...layouts), randomLeaf(metrics), async (layout, selector) => {
          const own = pointsOf(selector);
          const actual = await askLeaf(running.layout(layout).api, selector);
          points += countPoints(actual);
          const direct = isPercentile(selector)
            ? await directQuantile(selector, own)
            : exactly(await askAsPrometheus(running.wholeUrl, selector, own.grid));
          const wanted = atStamps(direct, own);
          expect(differences(actual.points, wanted, { oracle: "direct", exact: isExact(selector) })).toEqual([]);
        }),
        { seed, numRuns: runsOf(400) },
      );
      expect(points).toBeGreaterThan(runsOf(5_000));
    },
  );
});
