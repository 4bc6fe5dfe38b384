import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucketQuantile } from "../../../../runtime/metrics/merge/quantile.ts";

interface Row {
  readonly sentence: string;
  readonly q?: number;
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly value: number;
}

describe("a quantile of buckets", () => {
  const rows: readonly Row[] = [
    { sentence: "lies inside its bucket in proportion", bounds: [10, 20, Infinity], counts: [2, 6, 6], value: 12.5 },
    { sentence: "of a positive first bucket begins at zero", bounds: [10, 20, Infinity], counts: [8, 8, 8], value: 5 },
    {
      sentence: "of a first bucket that ends at zero is its bound",
      bounds: [0, 20, Infinity],
      counts: [8, 8, 8],
      value: 0,
    },
    { sentence: "of a negative first bucket is its bound", bounds: [-5, 20, Infinity], counts: [8, 8, 8], value: -5 },
    { sentence: "lies between negative bounds", bounds: [-10, -5, Infinity], counts: [0, 4, 4], value: -7.5 },
    {
      sentence: "in the last bucket is the highest finite bound",
      q: 0.99,
      bounds: [10, 20, Infinity],
      counts: [1, 2, 100],
      value: 20,
    },
    { sentence: "at the edge of a bucket is that edge", bounds: [10, 20, Infinity], counts: [2, 4, 4], value: 10 },
    { sentence: "skips empty buckets", q: 0.75, bounds: [1, 2, 3, 4, Infinity], counts: [2, 2, 2, 4, 4], value: 3.5 },
    {
      sentence: "takes a falling count for rounding of what was before",
      bounds: [1, 2, 3, Infinity],
      counts: [1, 8, 7.9, 10],
      value: 1 + 4 / 7,
    },
    {
      sentence: "does not tell counts apart that differ by rounding",
      q: 0.75,
      bounds: [1, 2, 3, Infinity],
      counts: [6, 6 + 1e-13, 8, 8],
      value: 1,
    },
    { sentence: "is nothing without observations", bounds: [10, 20, Infinity], counts: [0, 0, 0], value: Number.NaN },
    { sentence: "is nothing without +Inf", bounds: [10, 20], counts: [2, 4], value: Number.NaN },
    { sentence: "is nothing with +Inf alone", bounds: [Infinity], counts: [4], value: Number.NaN },
    { sentence: "is nothing without buckets", bounds: [], counts: [], value: Number.NaN },
    {
      sentence: "is nothing when a count is no number",
      bounds: [10, Infinity],
      counts: [1, Number.NaN],
      value: Number.NaN,
    },
  ];
  test.each(rows)("$sentence", ({ q = 0.5, bounds, counts, value }) => {
    expect(bucketQuantile(q, bounds, counts).value).toBe(value);
  });

  const edges: readonly (Omit<Row, "value"> & { readonly low: number; readonly high: number })[] = [
    { sentence: "its bucket", bounds: [10, 20, Infinity], counts: [2, 6, 6], low: 10, high: 20 },
    {
      sentence: "the first bound and nothing below, where observations may be negative",
      bounds: [10, 20, Infinity],
      counts: [8, 8, 8],
      low: -Infinity,
      high: 10,
    },
    {
      sentence: "a first bound that is not positive, and nothing below",
      bounds: [-5, 20, Infinity],
      counts: [8, 8, 8],
      low: -Infinity,
      high: -5,
    },
    {
      sentence: "the highest finite bound, and nothing above",
      q: 0.99,
      bounds: [10, 20, Infinity],
      counts: [1, 2, 100],
      low: 20,
      high: Infinity,
    },
  ];
  test.each(edges)("lies between $sentence", ({ q = 0.5, bounds, counts, low, high }) => {
    expect(bucketQuantile(q, bounds, counts)).toMatchObject({ low, high });
  });

  test("of whole observations is between its error bounds (wire, error bounds)", () => {
    const observations = fc.array(fc.double({ min: 0, max: 60, noNaN: true }), { minLength: 1, maxLength: 200 });
    const layout = fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(observations, layout, fc.constantFrom(0.5, 0.95, 0.99), (observed, finite, q) => {
        const bounds = [...finite.sort((a, b) => a - b), Infinity];
        const counts = bounds.map((bound) => observed.filter((value) => value <= bound).length);
        const { value, low, high } = bucketQuantile(q, bounds, counts);
        const truth = observed.sort((a, b) => a - b)[Math.ceil(q * observed.length) - 1] ?? Number.NaN;
        expect([low <= truth, truth <= high, low <= value, value <= high]).toEqual([true, true, true, true]);
      }),
      { seed: 3, numRuns: 2_000 },
    );
  });
});
