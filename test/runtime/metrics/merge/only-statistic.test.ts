import * as fc from "fast-check";
import { expect, test } from "vitest";
import { mergeMetric, type PartSeries } from "../../../../runtime/metrics/merge/merge.ts";
import type { Plan } from "../../../../runtime/metrics/planning/plan.ts";
import { gaugeRecipe } from "../../../../runtime/metrics/promql/recipe-of.ts";
import type { Recipe } from "../../../../runtime/metrics/promql/recipe.ts";

/** Points of a recipe with one statistic are copied. The same recipe with another function goes through every point. */

const count = 12;
const plan = {
  grid: { startMs: 0, stepMs: 60_000, count },
  query: { groupBy: ["service"], window: { widthSeconds: 60 } },
} as unknown as Plan;

const value = fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN, Infinity, -Infinity), fc.integer());
const series = fc.record({
  service: fc.constantFrom("a", "b", ""),
  values: fc.array(value, { minLength: count, maxLength: count }),
  present: fc.array(fc.nat(1), { minLength: count, maxLength: count }),
});

function partOf(intervalSeconds: number, all: readonly { service: string; values: number[]; present: number[] }[]) {
  const store = { key: "eu", digest: "eu", intervalSeconds, config: { labelMap: {} } };
  const own = all.map(({ service, values, present }) => ({
    labels: service === "" ? {} : { service },
    values: Float64Array.from(values),
    present: Uint8Array.from(present),
  }));
  const part = { store, imposed: {} };
  return { part, ranges: [{ series: own }], histograms: [], layout: undefined } as unknown as PartSeries;
}

test.each(["min", "max", "sum"] as const)(
  "copied points of %s equal those that go through its function",
  (aggregation) => {
    const recipe = gaugeRecipe({ kind: "gauge", name: "lag", matchers: [] }, aggregation);
    if (recipe.kind !== "scalar") throw new Error("a gauge has a scalar recipe");
    const each: Recipe = { ...recipe, finish: (merged) => merged[0] ?? Number.NaN };
    fc.assert(
      fc.property(fc.array(series, { maxLength: 4 }), fc.array(series, { maxLength: 3 }), (one, other) => {
        const results = [partOf(15, one), partOf(60, other)];
        const [copied, called] = [recipe, each].map((own) => [...mergeMetric(own, results, plan)]);
        // Bytes, since a zero has a sign that responses must not have.
        const bytes = (all: typeof copied) => all?.map(({ key, values }) => [key, [...new Uint8Array(values.buffer)]]);
        expect(bytes(copied)).toEqual(bytes(called));
      }),
      { numRuns: 1_000 },
    );
  },
);
