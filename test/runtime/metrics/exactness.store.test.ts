import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runsOf } from "../../support/soak.ts";
import { gaugeRecipe } from "../../../runtime/metrics/promql/recipe-of.ts";
import type { Statistic, StoreScope } from "../../../runtime/metrics/promql/recipe.ts";
import { mergeScalars, type WeightedPoints } from "../../../runtime/metrics/merge/merge-scalars.ts";
import { printVector } from "../../../runtime/metrics/promql/promql.ts";
import { ask, countPoints, isExact, isPercentile, metricIds, unbounded } from "./oracle/ask.ts";
import { kinds, type ResponseGrid, type MetricId, type SeriesPoints } from "./oracle/asked.ts";
import { expectComparison, expectRanking, groupedQuery, randomRanking } from "./oracle/comparison.ts";
import { differences, exactly } from "./oracle/differences.ts";
import { dataStartMs } from "./oracle/generated-series.ts";
import { askAsPrometheus, askDirectly, askRange, numberOf } from "./oracle/direct.ts";
import { layouts, startLayouts, type RunningLayouts } from "./oracle/layouts.ts";
import { askLeaf, atStamps, laterLeaf, pointsOf, randomLeaf, type RandomLeaf } from "./oracle/leaf-points.ts";
import { randomQuery, type RandomQuery } from "./oracle/random-query.ts";
import { recompute } from "./oracle/recompute.ts";

/** Fixed, so that a run can be repeated; fast-check prints the path of what it shrank to. */
const seed = 20_260_101;
/** Whose layout is not the same in every store. */
const uneven: readonly MetricId[] = ["uneven_ms", "uneven_sizes", "native_ms"];
const even = metricIds.filter((metric) => !uneven.includes(metric));
const soakMs = 600_000;

let running: RunningLayouts;
beforeAll(async () => {
  running = await startLayouts();
});
afterAll(async () => running?.stop());

describe("an answer", () => {
  test(
    `equals Prometheus and a recomputation from raw samples, over ${runsOf(6_000)} random queries to one to three stores`,
    { timeout: soakMs },
    async () => {
      let points = 0;
      const queries = fc.tuple(fc.constantFrom(...layouts), randomQuery(even));
      await fc.assert(
        fc.asyncProperty(queries, async ([layout, query]) => {
          const actual = await ask(running.layout(layout), query);
          const exact = isExact(query);
          const recomputed = recompute(query, actual.grid, running.layout(layout).raw);
          const direct = await askDirectly(running.wholeUrl, query, actual.grid);
          points += countPoints(actual);
          expect([
            ...differences(actual.points, recomputed, { oracle: "recomputed", exact }),
            // A percentile whose rank falls on the edge of a bucket is right on both sides of it; the recomputation
            // knows both.
            ...(isPercentile(query)
              ? [...differences(direct, recomputed, { oracle: "recomputed against direct" }), ...unbounded(actual)]
              : differences(actual.points, exactly(direct), { oracle: "direct", exact })),
          ]).toEqual([]);
        }),
        { seed, numRuns: runsOf(6_000) },
      );
      expect(points).toBeGreaterThan(runsOf(150_000));
    },
  );

  test(
    `grouped by region has the region of the store, over ${runsOf(1_000)} random queries`,
    { timeout: soakMs },
    async () => {
      const layout = "three stores of two regions";
      await fc.assert(
        fc.asyncProperty(randomQuery(even, ["region"]), async (query) => {
          const groupBy = [...new Set([...query.groupBy.slice(0, 3), "region"])];
          const actual = await ask(running.layout(layout), { ...query, groupBy });
          const recomputed = recompute({ ...query, groupBy }, actual.grid, running.layout(layout).raw);
          expect(differences(actual.points, recomputed, { oracle: "recomputed", exact: isExact(query) })).toEqual([]);
        }),
        { seed, numRuns: runsOf(1_000) },
      );
    },
  );

  test(
    `over unequal layouts of buckets is that of what they share, over ${runsOf(2_000)} random queries to several stores`,
    { timeout: soakMs },
    async () => {
      const queries = fc.tuple(fc.constantFrom(...layouts.slice(1)), randomQuery(uneven));
      await fc.assert(
        fc.asyncProperty(queries, async ([layout, query]) => {
          const actual = await ask(running.layout(layout), query);
          // A store that holds several layouts itself has merged them in its own way before it answers.
          const { raw } = running.layout(
            layout === "two stores of one region" && kinds[query.metric].kind === "native"
              ? "three stores of two regions"
              : layout,
          );
          const recomputed = recompute(query, actual.grid, raw);
          expect([
            ...differences(actual.points, recomputed, { oracle: "recomputed" }),
            ...(isPercentile(query) ? unbounded(actual) : []),
          ]).toEqual([]);
        }),
        { seed, numRuns: runsOf(2_000) },
      );
    },
  );

  test(
    `of one store is Prometheus' own, whatever layouts it holds, over ${runsOf(1_000)} random queries`,
    { timeout: soakMs },
    async () => {
      await fc.assert(
        fc.asyncProperty(randomQuery(["native_ms", "uneven_sizes", "sizes"]), async (query) => {
          const actual = await ask(running.layout("one store"), query);
          const direct = await askDirectly(running.wholeUrl, query, actual.grid);
          expect(differences(actual.points, exactly(direct), { oracle: "direct" })).toEqual([]);
        }),
        { seed, numRuns: runsOf(1_000) },
      );
    },
  );
});

describe("a ranking", () => {
  test(
    `has the series of a brute force over all of them, seed ${seed}, over ${runsOf(250)} random queries`,
    { timeout: soakMs },
    async () => {
      let [series, others] = [0, 0];
      const queries = fc.tuple(fc.constantFrom(...layouts.slice(1)), groupedQuery(even), randomRanking);
      await fc.assert(
        fc.asyncProperty(queries, async ([layout, query, ranking]) => {
          const { ranked, isSummed } = await expectRanking(running, running.layout(layout), query, ranking);
          series += ranked;
          others += isSummed ? 1 : 0;
        }),
        { seed, numRuns: runsOf(250) },
      );
      expect([series > runsOf(250), others > runsOf(25)]).toEqual([true, true]);
    },
  );
});

test(
  `a comparison has the points of both windows, seed ${seed}, over ${runsOf(250)} random queries`,
  { timeout: soakMs },
  async () => {
    let changes = 0;
    const queries = fc.tuple(fc.constantFrom(...layouts.slice(1)), groupedQuery(even), fc.integer({ min: 1, max: 40 }));
    await fc.assert(
      fc.asyncProperty(queries, async ([layout, query, steps]) => {
        changes += await expectComparison(running, running.layout(layout), query, steps);
      }),
      { seed, numRuns: runsOf(250) },
    );
    expect(changes).toBeGreaterThan(runsOf(2_500));
  },
);

describe("a leaf", () => {
  /** How the points of a leaf differ from those that Prometheus has at the end of each point. */
  const wrong = async (layout: (typeof layouts)[number], selector: RandomLeaf, api = running.layout(layout).api) => {
    const { points, cache } = await askLeaf(api, selector);
    const own = pointsOf(selector);
    const wanted = isPercentile(selector)
      ? recompute(selector, own.grid, running.layout(layout).raw)
      : exactly(await askAsPrometheus(running.wholeUrl, selector, own.grid));
    const found = differences(points, atStamps(wanted, own), { oracle: "at τ", exact: isExact(selector) });
    return { found, cache, count: countPoints({ points }) };
  };

  test(
    `has Prometheus' values over its width, at any phase and step, over ${runsOf(750)} random leaves`,
    { timeout: soakMs },
    async () => {
      let points = 0;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...layouts), randomLeaf(even), async (layout, selector) => {
          const { found, count } = await wrong(layout, selector);
          points += count;
          expect(found).toEqual([]);
        }),
        { seed, numRuns: runsOf(750) },
      );
      expect(points).toBeGreaterThan(runsOf(10_000));
    },
  );

  test(
    `has them from caches too, while its window moves, over ${runsOf(250)} random leaves`,
    { timeout: soakMs },
    async () => {
      const layout = "three stores of two regions";
      const [api, seen] = [running.caching(layout), { hits: 0, misses: 0 }];
      const moves = fc.array(fc.constantFrom(0, 60, 60, 77, 300), { minLength: 2, maxLength: 3 });
      await fc.assert(
        fc.asyncProperty(randomLeaf(even), moves, async (selector, seconds) => {
          for (const later of [0, ...seconds]) {
            const { found, cache } = await wrong(layout, laterLeaf(selector, later), api);
            if (/^answer|hit=[1-9]/u.test(cache)) seen.hits += 1;
            else seen.misses += 1;
            expect(found).toEqual([]);
          }
        }),
        { seed, numRuns: runsOf(250) },
      );
      await api.stop();
      expect([seen.hits > runsOf(100), seen.misses > runsOf(100)]).toEqual([true, true]);
    },
  );
});

/** The same query over one part of an answered grid: points `from` to `to`. */
function overPart(
  query: RandomQuery,
  { fromMs, stepSeconds }: ResponseGrid,
  [from, to]: readonly [number, number],
): RandomQuery {
  const part = { fromMs: fromMs + from * stepSeconds * 1_000, seconds: (to - from) * stepSeconds };
  return { ...query, ...part, step: `${stepSeconds}s`, downsample: undefined };
}

function joined(...parts: readonly SeriesPoints<number>[]): SeriesPoints<number> {
  const keys = new Set(parts.flatMap((part) => [...part.keys()]));
  return new Map([...keys].map((key) => [key, new Map(parts.flatMap((part) => [...(part.get(key) ?? [])]))]));
}

describe("one question in two ways", () => {
  test(
    `a window in two parts has the points of the whole, over ${runsOf(1_000)} random queries`,
    { timeout: soakMs },
    async () => {
      const queries = fc.tuple(
        fc.constantFrom(...layouts),
        randomQuery(metricIds),
        fc.double({ min: 0, max: 1, noNaN: true }),
      );
      await fc.assert(
        fc.asyncProperty(queries, async ([name, query, share]) => {
          const layout = running.layout(name);
          const whole = await ask(layout, query);
          const count = (whole.grid.toMs - whole.grid.fromMs) / 1_000 / whole.grid.stepSeconds;
          fc.pre(count >= 2);
          const cut = 1 + Math.floor(share * (count - 1.5));
          const first = await ask(layout, overPart(query, whole.grid, [0, cut]));
          const rest = await ask(layout, overPart(query, whole.grid, [cut, count]));
          expect(differences(joined(first.points, rest.points), exactly(whole.points), { oracle: "whole" })).toEqual(
            [],
          );
        }),
        { seed, numRuns: runsOf(1_000) },
      );
    },
  );

  test(
    `regions side by side are the regions each asked alone, over ${runsOf(1_000)} random queries`,
    { timeout: soakMs },
    async () => {
      const layout = "three stores of two regions";
      await fc.assert(
        fc.asyncProperty(randomQuery(metricIds, ["region"]), async (query) => {
          const groupBy = [...new Set([...query.groupBy.slice(0, 3), "region"])];
          const both = await ask(running.layout(layout), { ...query, groupBy });
          const alone = ["eu", "latam"].map((region) =>
            ask(running.layout(layout), { ...query, groupBy, filters: { ...query.filters, region } }),
          );
          const [eu, latam] = await Promise.all(alone);
          expect(
            differences(both.points, exactly(joined(eu?.points ?? new Map(), latam?.points ?? new Map())), {
              oracle: "alone",
            }),
          ).toEqual([]);
        }),
        { seed, numRuns: runsOf(1_000) },
      );
    },
  );

  test(
    `one store answers what three do that share its data, over ${runsOf(1_000)} random queries`,
    { timeout: soakMs },
    async () => {
      await fc.assert(
        fc.asyncProperty(randomQuery(even), async (query) => {
          const [one, three] = await Promise.all([
            ask(running.layout("one store"), query),
            ask(running.layout("three stores of two regions"), query),
          ]);
          // What a percentile may be where its rank falls on the edge of a bucket, the recomputation says.
          const wanted = isPercentile(query)
            ? recompute(query, one.grid, running.layout("one store").raw)
            : exactly(one.points);
          expect(differences(three.points, wanted, { oracle: "one store", exact: isExact(query) })).toEqual([]);
        }),
        { seed, numRuns: runsOf(1_000) },
      );
    },
  );

  test(
    `coarse partials are the fine ones merged, where they are said to be, over ${runsOf(1_000)} random queries`,
    { timeout: soakMs },
    async () => {
      const gauges = metricIds.filter((metric) => kinds[metric].kind === "gauge" && metric !== "slow_gauge");
      const asked = fc.record({
        name: fc.constantFrom(...gauges.map((metric) => kinds[metric].name)),
        statistic: fc.constantFrom(...additiveStatistics()),
        by: fc.subarray(["tenant", "env", "service"]),
        fine: fc.constantFrom(60, 77, 120),
        merged: fc.integer({ min: 2, max: 6 }),
        from: fc.integer({ min: 0, max: 200 }),
      });
      await fc.assert(
        fc.asyncProperty(asked, async ({ name, statistic, by, fine, merged, from }) => {
          const stepSeconds = fine * merged;
          const fromMs = Math.floor((dataStartMs + from * 60_000) / (stepSeconds * 1_000)) * stepSeconds * 1_000;
          const grid = { fromMs, toMs: fromMs + stepSeconds * 8_000 };
          const partials = async (seconds: number): Promise<SeriesPoints<number>> => {
            const scope: StoreScope = { select: () => ({ name, matchers: [] }), by, rangeMs: seconds * 1_000 };
            const series = await askRange(running.wholeUrl, printVector(statistic.expr(scope), "LeftOpen"), {
              ...grid,
              stepSeconds: seconds,
            });
            return new Map(
              series.map(({ metric, values = [] }) => [
                JSON.stringify(metric),
                new Map(values.map(([second, text]) => [Math.round(second * 1_000), numberOf(text)])),
              ]),
            );
          };
          const [finer, coarser] = await Promise.all([partials(fine), partials(stepSeconds)]);
          const composed = new Map(
            [...finer].map(([key, points]) => [key, mergedPoints(points, statistic, stepSeconds * 1_000)]),
          );
          expect(differences(finitePoints(composed), exactly(finitePoints(coarser)), { oracle: "coarser" })).toEqual(
            [],
          );
        }),
        { seed, numRuns: runsOf(1_000) },
      );
    },
  );
});

describe("points of a coarser step", () => {
  test(
    `are those that Prometheus has, when they are made of finer ones that are known, over ${runsOf(500)} random queries`,
    { timeout: soakMs },
    async () => {
      let made = 0;
      const gauges = metricIds.filter((metric) => kinds[metric].kind === "gauge" && metric !== "slow_gauge");
      const asked = fc.tuple(randomQuery(gauges), fc.constantFrom("60s", "2m"), fc.constantFrom("2m", "4m", "10m"));
      const api = running.caching();
      await fc.assert(
        fc.asyncProperty(asked, async ([query, fine, coarse]) => {
          const fromMs = Math.floor(query.fromMs / 1_200_000) * 1_200_000;
          const whole = { ...query, fromMs, seconds: Math.ceil(query.seconds / 1_200) * 1_200, downsample: undefined };
          await ask({ api }, { ...whole, step: fine });
          const actual = await ask({ api }, { ...whole, step: coarse });
          const direct = await askDirectly(running.wholeUrl, whole, actual.grid);
          // A gauge's sum does not add up over time; all else asks the store nothing.
          expect(query.agg === "sum" || /^answer|;miss=0;/u.test(actual.cache) ? "" : actual.cache).toBe("");
          if (actual.cache.includes("finer")) made += 1;
          expect(differences(actual.points, exactly(direct), { oracle: "direct", exact: isExact(query) })).toEqual([]);
        }),
        { seed, numRuns: runsOf(500) },
      );
      await api.stop();
      expect(made).toBeGreaterThan(runsOf(500) / 4);
    },
  );
});

/** The statistics of which wide points are exactly their merged narrower points. */
function additiveStatistics(): readonly Statistic[] {
  const source = { kind: "gauge", name: "", matchers: [] } as const;
  return (["avg", "min", "max", "sum"] as const)
    .map((aggregation) => gaugeRecipe(source, aggregation))
    .flatMap((recipe) => ("statistics" in recipe ? recipe.statistics : []))
    .filter(({ isAdditiveOverTime }) => isAdditiveOverTime);
}

/** Each coarse point from the fine ones that it covers. */
function mergedPoints(
  points: ReadonlyMap<number, number>,
  { merge }: Statistic,
  stepMs: number,
): ReadonlyMap<number, number> {
  const covered = Map.groupBy(points, ([ms]) => Math.ceil(ms / stepMs) * stepMs);
  const parts = (own: readonly (readonly [number, number])[]): readonly WeightedPoints[] =>
    own.map(([, value]) => ({ values: Float64Array.of(value), present: Uint8Array.of(1), weight: 1 }));
  return new Map([...covered].map(([ms, own]) => [ms, mergeScalars(parts(own), merge, 1).values[0] ?? Number.NaN]));
}

function finitePoints(series: SeriesPoints<number>): SeriesPoints<number> {
  const finite = [...series].map(
    ([key, points]) => [key, new Map([...points].filter(([, value]) => Number.isFinite(value)))] as const,
  );
  return new Map(finite.filter(([, points]) => points.size > 0));
}
