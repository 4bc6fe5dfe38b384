import { describe, expect, test } from "vitest";
import {
  bucketsOf,
  IncompatibleBuckets,
  mergeQuantile,
} from "../../../../runtime/metrics/aggregation/merge-buckets.ts";
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
