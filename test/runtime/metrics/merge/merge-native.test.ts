import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nativeQuantile } from "../../../../runtime/metrics/merge/merge-native.ts";
import type { StoreHistogram } from "../../../../runtime/stores/prometheus/matrix.ts";

type Row = readonly [lower: number, upper: number, count: number];

function histogram(...rows: readonly Row[]): StoreHistogram {
  const buckets = rows.map(([lower, upper, count]) => ({ lower, upper, count }));
  return { count: buckets.reduce((sum, bucket) => sum + bucket.count, 0), sum: 1, buckets };
}

const exponential = (histograms: readonly StoreHistogram[], quantile = 0.5) =>
  nativeQuantile({ histograms, isExponential: true }, quantile);
const custom = (histograms: readonly StoreHistogram[], quantile = 0.5) =>
  nativeQuantile({ histograms, isExponential: false }, quantile);

describe("a quantile of exponential histograms", () => {
  test("lies in its bucket on a logarithmic scale", () => {
    expect(exponential([histogram([1, 2, 2], [2, 4, 4])], 0.25)).toEqual({ value: 2 ** 0.75, low: 1, high: 2 });
  });

  test("is mirrored in a negative bucket", () => {
    const { value, low, high } = exponential([histogram([-4, -2, 4], [1, 2, 1])], 0.4);
    expect([value, low, high]).toEqual([-(2 ** 1.5), -4, -2]);
  });

  test("is linear around zero, from zero on where all observations are positive", () => {
    expect(exponential([histogram([-0.5, 0.5, 8], [1, 2, 2])], 0.4)).toEqual({ value: 0.25, low: -0.5, high: 0.5 });
    expect(exponential([histogram([-2, -1, 2], [-0.5, 0.5, 8])], 0.6)).toEqual({ value: -0.25, low: -0.5, high: 0.5 });
    expect(exponential([histogram([-2, -1, 1], [-0.5, 0.5, 8], [1, 2, 1])], 0.5)).toEqual({
      value: 0,
      low: -0.5,
      high: 0.5,
    });
  });

  test("of several stores equals that of their sum", () => {
    expect(
      exponential([histogram([1, 2, 1], [4, 8, 1]), histogram([1, 2, 1], [2, 4, 4], [4, 8, 1])]).value,
    ).toBeCloseTo(2 ** 1.5, 12);
  });

  test("of stores with several schemas has the coarsest schema", () => {
    const fine = histogram([1, 2 ** 0.5, 3], [2 ** 0.5, 2, 1]);
    expect(exponential([fine, histogram([1, 2, 4])])).toEqual({ value: 2 ** 0.5, low: 1, high: 2 });
    expect(exponential([histogram([2 ** 0.5, 2, 4]), histogram([1, 4, 4])], 0.25)).toMatchObject({ low: 1, high: 4 });
  });

  test("of stores with several zero buckets has the widest one, which splits no bucket", () => {
    // The bucket from 1 to 2 lies across the wider threshold of 1.5, so that the zero bucket takes it in.
    const merged = exponential(
      [histogram([-1.5, 1.5, 2]), histogram([-0.1, 0.1, 1], [0.5, 1, 1], [1, 2, 2], [4, 8, 1])],
      0.5,
    );
    expect([merged.low, merged.high]).toEqual([-2, 2]);
    expect(merged.value).toBeCloseTo((2 * 3.5) / 6, 12);
  });

  test("is absent without observations, and where its rank is among NaN", () => {
    expect(exponential([histogram()]).value).toBeNaN();
    expect(exponential([]).value).toBeNaN();
    expect(exponential([{ ...histogram([1, 2, 1]), count: 10, sum: Number.NaN }], 0.99).value).toBeNaN();
    expect(exponential([{ ...histogram([1, 2, 9]), count: 10, sum: Number.NaN }], 0.45).value).toBeCloseTo(
      2 ** 0.5,
      12,
    );
  });
});

describe("a quantile of custom histograms", () => {
  test("is linear in its bucket, as in a classic one", () => {
    expect(custom([histogram([-Infinity, 10, 2], [10, 20, 4])])).toEqual({ value: 12.5, low: 10, high: 20 });
    expect(custom([histogram([-Infinity, 10, 8])])).toEqual({ value: 5, low: -Infinity, high: 10 });
    expect(custom([histogram([-Infinity, -5, 8])])).toEqual({ value: -5, low: -Infinity, high: -5 });
    expect(custom([histogram([10, 20, 1], [20, Infinity, 9])])).toEqual({ value: 20, low: 20, high: Infinity });
  });

  test("of stores with different bounds uses the bounds that split no populated bucket", () => {
    const stores = [histogram([1, 2, 4], [5, 10, 4]), histogram([1, 5, 8])];
    expect(custom(stores)).toMatchObject({ low: 1, high: 5 });
    expect(custom(stores).value).toBeCloseTo(1 + 4 * (8 / 12), 12);
  });

  test("keeps a bound of one store where the other has no observations", () => {
    expect(custom([histogram([1, 2, 4], [2, 5, 4]), histogram([5, 10, 8])], 0.25)).toEqual({
      value: 2,
      low: 1,
      high: 2,
    });
  });
});

describe("any split of observations over stores", () => {
  const schema = 1;
  const placed = (value: number): Row => {
    const index = Math.ceil(Math.log2(value) * 2 ** schema);
    return [2 ** ((index - 1) / 2 ** schema), 2 ** (index / 2 ** schema), 1];
  };
  const summed = (rows: readonly Row[]): StoreHistogram => {
    const byUpper = new Map<number, Row>();
    for (const [lower, upper, count] of rows)
      byUpper.set(upper, [lower, upper, count + (byUpper.get(upper)?.[2] ?? 0)]);
    return histogram(...[...byUpper.values()].sort(([a], [b]) => a - b));
  };
  const observations = fc.array(
    fc.record({ value: fc.double({ min: 0.01, max: 5_000, noNaN: true }), store: fc.integer({ min: 0, max: 2 }) }),
    { minLength: 1, maxLength: 120 },
  );

  test("has the quantile of one store with all of them, inside its error bounds", () => {
    fc.assert(
      fc.property(observations, fc.constantFrom(0.5, 0.95, 0.99), (observed, quantile) => {
        const whole = summed(observed.map(({ value }) => placed(value)));
        const split = [...Map.groupBy(observed, ({ store }) => store).values()].map((own) =>
          summed(own.map(({ value }) => placed(value))),
        );
        const [one, three] = [exponential([whole], quantile), exponential(split, quantile)];
        expect(Math.abs(three.value - one.value)).toBeLessThanOrEqual(1e-9 * one.value);
        // A rank between two observations belongs to either.
        const [sorted, rank] = [observed.map(({ value }) => value).sort((a, b) => a - b), quantile * observed.length];
        const truths = [sorted[Math.ceil(rank) - 1], sorted[Math.floor(rank)]].filter((truth) => truth !== undefined);
        expect(truths.some((truth) => truth > three.low * (1 - 1e-12) && truth <= three.high * (1 + 1e-12))).toBe(true);
        expect(custom(split, quantile)).toMatchObject({
          low: custom([whole], quantile).low,
          high: custom([whole], quantile).high,
        });
      }),
      { seed: 21, numRuns: 500 },
    );
  });
});

describe("the error bounds of native histograms contain the percentile of their observations", () => {
  const observed = fc.array(fc.double({ min: -40, max: 40, noNaN: true }), { minLength: 1, maxLength: 40 });
  const quantiles = fc.constantFrom<readonly [number, number]>([1, 2], [19, 20], [99, 100]);
  const judged = (stores: readonly (readonly number[])[], [share, of]: readonly [number, number], made: Made) => {
    const all = stores.flat().sort((a, b) => a - b);
    const truth = all[Math.ceil((share * all.length) / of) - 1] ?? Number.NaN;
    const { low, high } = made(share / of);
    return { contains: low <= truth && truth <= high, low, high, truth };
  };
  type Made = (quantile: number) => { readonly low: number; readonly high: number };

  test("with exponential buckets of any schema and zero bucket", () => {
    const store = fc.tuple(observed, fc.integer({ min: -2, max: 3 }), fc.constantFrom(0.001, 0.5, 3));
    fc.assert(
      fc.property(fc.array(store, { minLength: 1, maxLength: 4 }), quantiles, (stores, quantile) => {
        const histograms = stores.map(([values, schema, zero]) => {
          const bucketOf = (value: number): Row => {
            if (Math.abs(value) <= zero) return [-zero, zero, 1];
            const index = Math.ceil(Math.log2(Math.abs(value)) * 2 ** schema);
            const [near, far] = [2 ** ((index - 1) / 2 ** schema), 2 ** (index / 2 ** schema)];
            return value > 0 ? [near, far, 1] : [-far, -near, 1];
          };
          return histogram(...counted(values.map(bucketOf)));
        });
        const observations = stores.map(([values]) => values);
        expect(judged(observations, quantile, (own) => exponential(histograms, own))).toMatchObject({ contains: true });
      }),
      { seed: 5, numRuns: 2_000 },
    );
  });

  test("with custom buckets of any layout", () => {
    const layout = fc.uniqueArray(fc.integer({ min: -30, max: 30 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(observed, layout), { minLength: 1, maxLength: 4 }),
        quantiles,
        (stores, quantile) => {
          const histograms = stores.map(([values, finite]) => {
            const bounds = [-Infinity, ...finite.sort((a, b) => a - b), Infinity];
            const rows = values.map((value): Row => {
              const upper = bounds.findIndex((bound) => value <= bound);
              return [bounds[upper - 1] ?? -Infinity, bounds[upper] ?? Infinity, 1];
            });
            return histogram(...counted(rows));
          });
          const observations = stores.map(([values]) => values);
          expect(judged(observations, quantile, (own) => custom(histograms, own))).toMatchObject({ contains: true });
        },
      ),
      { seed: 5, numRuns: 2_000 },
    );
  });
});

/** One row for each bucket, ascending. */
function counted(rows: readonly Row[]): readonly Row[] {
  const groups = Map.groupBy(rows, ([lower, upper]) => `${lower} ${upper}`);
  return [...groups.values()]
    .map((own): Row => [own[0]?.[0] ?? Number.NaN, own[0]?.[1] ?? Number.NaN, own.length])
    .sort((a, b) => a[0] - b[0]);
}
