import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  layoutOf,
  type NativeLayout,
  placeOf,
  tellingPoint,
  toldLayout,
} from "../../../../runtime/metrics/merge/native-layout.ts";
import type { HistogramSeries, StoreBucket } from "../../../../runtime/stores/prometheus/matrix.ts";

type Bounds = readonly [lower: number, upper: number, count?: number];

const bucketOf = ([lower, upper, count = 1]: Bounds): StoreBucket => ({ lower, upper, count });

function series(...buckets: readonly Bounds[]): readonly HistogramSeries[] {
  const own = buckets.map(bucketOf);
  const count = own.reduce((sum, bucket) => sum + bucket.count, 0);
  return [{ labels: {}, histograms: [undefined, { count, sum: 1, buckets: own }] }];
}

describe("the schema of a bucket", () => {
  test("is inferred from the bounds for every schema and index of positive and negative buckets", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -4, max: 8 }),
        fc.double({ min: -300, max: 300, noNaN: true }),
        fc.boolean(),
        (schema, exponent, isNegative) => {
          const index = Math.round(exponent * 2 ** schema) + 0;
          const [lower, upper] = [2 ** ((index - 1) / 2 ** schema), 2 ** (index / 2 ** schema)];
          expect(placeOf(isNegative ? bucketOf([-upper, -lower]) : bucketOf([lower, upper]))).toEqual({
            schema,
            index,
          });
        },
      ),
      { seed: 9, numRuns: 2_000 },
    );
  });

  test.each([
    ["from zero", 0, 1],
    ["without an end", 1, Infinity],
    ["of a width that is no schema's", 1, 3],
    ["of a schema's width beside its bounds", 3, 6],
    ["from negative to positive", -1, 1],
  ])("is absent for one %s", (_sentence, lower, upper) => {
    expect(placeOf(bucketOf([lower, upper]))).toBeUndefined();
  });
});

describe("the layout of histograms", () => {
  const rows: readonly (readonly [sentence: string, buckets: readonly Bounds[], layout: NativeLayout])[] = [
    ["with bounds that nobody writes down are exponential", [[2 ** (1 / 8), 2 ** (2 / 8)]], "exponential"],
    [
      "with a zero bucket are exponential",
      [
        [-1e-128, 1e-128],
        [1, 2],
      ],
      "exponential",
    ],
    [
      "with observations of +Inf beyond the greatest number are exponential",
      [[Number.MAX_VALUE, Infinity]],
      "exponential",
    ],
    [
      "with a last bucket without an end are custom",
      [
        [1, 2],
        [2, Infinity],
      ],
      "custom",
    ],
    ["with a first bucket from zero are custom", [[0, 0.1]], "custom"],
    [
      "with a width that is no schema's are custom",
      [
        [1, 2],
        [2, 5],
      ],
      "custom",
    ],
    [
      "with bounds of powers of two can be both",
      [
        [1, 2],
        [4, 8],
      ],
      "either",
    ],
    ["with bounds of powers of four can be both", [[1_024, 4_096]], "either"],
    ["with one bucket around zero that somebody may have meant can be both", [[-1, 1]], "either"],
    ["without observations can be both", [], "either"],
  ];
  test.each(rows)("%s", (_sentence, buckets, layout) => {
    expect(layoutOf(series(...buckets))).toBe(layout);
  });

  test("that can be both is shown by the store's own quantile in the middle of a bucket", () => {
    const point = tellingPoint(series([-1, 1, 4], [4, 16, 2], [16, 64, 2]));
    expect(point).toMatchObject({ index: 1, quantile: 5 / 8, linear: 10, exponential: 8 });
    if (point === undefined) throw new Error("no point tells");
    expect([toldLayout(point, 10), toldLayout(point, 8.0001)]).toEqual(["custom", "exponential"]);
  });

  test("that can be both is shown in a negative bucket too", () => {
    expect(tellingPoint(series([-16, -4, 1]))).toMatchObject({ quantile: 0.5, linear: -10, exponential: -8 });
  });

  test("makes no difference where all observations are around zero", () => {
    expect(tellingPoint(series([-1, 1]))).toBeUndefined();
  });
});
