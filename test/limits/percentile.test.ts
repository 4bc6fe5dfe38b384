import { expect, test } from "vitest";
import { percentileOf } from "../../limits/percentile.ts";

test("a percentile is the nearest rank", () => {
  const counts = new Map([
    [30, 1],
    [10, 18],
    [20, 1],
  ]);
  const values = [30, 20, ...Array.from({ length: 18 }, () => 10)];
  const shares = [0.5, 0.95, 0.96, 1];
  expect(shares.map((share) => percentileOf(counts, share))).toEqual([10, 20, 30, 30]);
  expect(shares.map((share) => percentileOf(values, share))).toEqual([10, 20, 30, 30]);
  expect([percentileOf(new Map(), 0.5), percentileOf([], 0.5)]).toEqual([undefined, undefined]);
});
