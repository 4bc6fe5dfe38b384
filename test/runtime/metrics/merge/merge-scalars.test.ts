import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mergeScalars } from "../../../../runtime/metrics/merge/merge-scalars.ts";
import { seriesOf } from "../points.ts";

type Merge = "sum" | "min" | "max";

function merged(merge: Merge, parts: readonly (readonly (number | undefined)[])[], weights: readonly number[] = []) {
  const points = parts.map((values, index) => ({ ...seriesOf(values), weight: weights[index] ?? 1 }));
  const { values, present } = mergeScalars(points, merge, parts[0]?.length ?? 0);
  return [...values].map((value, index) => (present[index] === 1 ? value : undefined));
}

describe("merged points", () => {
  test("are absent only where no store has a point", () => {
    expect(
      merged("sum", [
        [1, undefined, undefined],
        [2, 3, undefined],
      ]),
    ).toEqual([3, 3, undefined]);
  });

  test("of minima and maxima are the minimum and the maximum", () => {
    expect([merged("min", [[4], [2], [3]]), merged("max", [[4], [2], [3]])]).toEqual([[2], [4]]);
  });

  test("treat NaN as Prometheus does: a sum becomes NaN, and a minimum and a maximum ignore it", () => {
    const parts = [
      [Number.NaN, Number.NaN],
      [7, Number.NaN],
    ];
    expect(merged("sum", parts)).toEqual([Number.NaN, Number.NaN]);
    expect(merged("min", parts)).toEqual([7, Number.NaN]);
    expect(merged("max", parts)).toEqual([7, Number.NaN]);
  });

  test("keep an infinity, which makes the point absent later", () => {
    expect(merged("sum", [[Infinity], [1]])).toEqual([Infinity]);
    expect(merged("sum", [[Infinity], [-Infinity]])).toEqual([Number.NaN]);
  });

  test("of sums keep the digits that plain addition loses", () => {
    expect(merged("sum", [[1e100], [1], [-1e100]])).toEqual([1]);
    expect(
      merged(
        "sum",
        Array.from({ length: 10 }, () => [0.1]),
      ),
    ).toEqual([1]);
  });

  test("of one store are its own points, not a copy", () => {
    const part = { ...seriesOf([1, 2]), weight: 1 };
    expect(mergeScalars([part], "sum", 2)).toBe(part);
  });

  test("weigh a store by its interval, so that a store with twice the samples counts the same", () => {
    // 10 every 15 s and 20 every 30 s, over a minute: the average is 15 and not 13.3.
    const sums = merged("sum", [[40], [40]], [1, 2]);
    const counts = merged("sum", [[4], [2]], [1, 2]);
    expect((sums[0] ?? 0) / (counts[0] ?? 0)).toBe(15);
  });

  test("are equal for any split of series over stores", () => {
    const points = fc.array(fc.option(fc.integer({ min: -1_000_000, max: 1_000_000 }), { nil: undefined }), {
      minLength: 3,
      maxLength: 3,
    });
    const split = fc.tuple(fc.array(points, { minLength: 1, maxLength: 6 }), fc.nat({ max: 5 }));
    fc.assert(
      fc.property(split, fc.constantFrom<Merge>("sum", "min", "max"), ([parts, at], merge) => {
        const halves = [parts.slice(0, at), parts.slice(at)].filter((half) => half.length > 0);
        expect(
          merged(
            merge,
            halves.map((half) => merged(merge, half)),
          ),
        ).toEqual(merged(merge, parts));
      }),
    );
  });
});
