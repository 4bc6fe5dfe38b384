import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucketsOf, IncompatibleBuckets, mergeQuantile } from "../../../../runtime/metrics/merge/merge-buckets.ts";
import { seriesOf } from "../points.ts";

type Buckets = Readonly<Record<string, readonly (number | undefined)[]>>;

const store = (buckets: Buckets, points = 1) =>
  bucketsOf(
    Object.entries(buckets).map(([le, values]) => seriesOf(values, { le })),
    points,
  );
const median = (stores: readonly Buckets[], points = 1) => [
  ...mergeQuantile(
    stores.map((buckets) => store(buckets, points)),
    0.5,
    points,
  ).values,
];

describe("buckets of several stores", () => {
  test("are added by bound in any spelling", () => {
    expect(
      median([
        { "1": [2], "2": [4], "+Inf": [4] },
        { "1.0": [0], "2e0": [4], "+Inf": [4] },
      ]),
    ).toEqual([1 + 2 / 6]);
  });

  test("of one store with two spellings of a bound are one bucket", () => {
    expect(median([{ "1": [1], "1.0": [1], "2": [4], "+Inf": [4] }])).toEqual([1]);
  });

  test("with different bounds are reduced to the shared bounds", () => {
    const [shared] = median([
      { "1": [1], "2": [4], "4": [8], "+Inf": [8] },
      { "2": [4], "3": [6], "4": [8], "+Inf": [8] },
    ]);
    expect(shared).toBe(2);
  });

  test("that share only +Inf are refused", () => {
    const stores = [
      { "1": [1], "+Inf": [2] },
      { "2": [1], "+Inf": [2] },
    ];
    expect(() => median(stores)).toThrow(IncompatibleBuckets);
  });

  test("that share bounds but no +Inf are refused", () => {
    const stores = [
      { "1": [1], "2": [2] },
      { "1": [1], "2": [2], "+Inf": [2] },
    ];
    expect(() => median(stores)).toThrow(IncompatibleBuckets);
  });

  test("are compared only at points of both stores", () => {
    const stores = [
      { "1": [1, undefined], "+Inf": [1, undefined] },
      { "2": [undefined, 1], "+Inf": [undefined, 1] },
    ];
    expect(median(stores, 2)).toEqual([0.5, 1]);
  });

  test("without +Inf in any store give no quantile", () => {
    expect(median([{ "1": [1], "2": [2] }])).toEqual([Number.NaN]);
  });

  test("without any point have no value", () => {
    expect(median([{ "1": [undefined], "+Inf": [undefined] }])).toEqual([Number.NaN]);
  });

  test("leave out series without a valid bound", () => {
    expect([...store({ "": [1], x: [1], "5": [1] }).keys()]).toEqual([5]);
  });
});

test("the error bounds of stores with any layouts contain the percentile of their observations", () => {
  const layout = fc.uniqueArray(fc.integer({ min: -4, max: 12 }), { minLength: 1, maxLength: 8 });
  const observed = fc.array(fc.double({ min: -6, max: 16, noNaN: true }), { minLength: 1, maxLength: 40 });
  let judged = 0;
  fc.assert(
    fc.property(
      fc.array(fc.tuple(layout, observed), { minLength: 1, maxLength: 4 }),
      fc.constantFrom([1, 2], [19, 20], [99, 100]),
      (stores, [share = 0, of = 1]) => {
        const buckets = stores.map(([finite, values]) => {
          const bounds = [...finite, Infinity];
          return Object.fromEntries(bounds.map((le) => [le, [values.filter((value) => value <= le).length]]));
        });
        const all = stores.flatMap(([, values]) => values).sort((a, b) => a - b);
        const truth = all[Math.ceil((share * all.length) / of) - 1] ?? Number.NaN;
        const merged = boundsOf(
          buckets.map((own) => store(own)),
          share / of,
        );
        if (merged === undefined) return;
        judged += 1;
        expect({ contains: merged.low <= truth && truth <= merged.high, merged, truth }).toMatchObject({
          contains: true,
        });
      },
    ),
    { seed: 5, numRuns: 2_000 },
  );
  expect(judged).toBeGreaterThan(800);
});

/** The bounds of a quantile; undefined where the stores share too few. */
function boundsOf(stores: readonly ReturnType<typeof store>[], quantile: number) {
  try {
    const { low, high } = mergeQuantile(stores, quantile, 1).bounds;
    return { low: low[0] ?? Number.NaN, high: high[0] ?? Number.NaN };
  } catch (error) {
    if (error instanceof IncompatibleBuckets) return undefined;
    throw error;
  }
}
