import { describe, expect, test } from "vitest";
import {
  completeParts,
  createMissingParts,
  type StatisticPoints,
} from "../../../../runtime/metrics/merge/merge-scalars.ts";
import type { Statistic } from "../../../../runtime/metrics/promql/recipe.ts";
import { seriesOf } from "../points.ts";

const statistic = (name: string, changes: Partial<Statistic> = {}): Statistic => ({
  name,
  expr: () => ({ kind: "timestamp", of: { name, matchers: [] } }),
  merge: "sum",
  weighted: false,
  isAdditiveOverTime: false,
  ...changes,
});
const ratio = [statistic("numerator", { absent: "none" }), statistic("denominator")];
const average = [statistic("sum"), statistic("count", { noun: "number of observations" })];

type Values = readonly (number | undefined)[];

const rowsOf = (store: number, parts: readonly (Values | undefined)[], ordinal = ""): readonly StatisticPoints[] =>
  parts.flatMap((values, index) =>
    values === undefined ? [] : [{ ...seriesOf(values), store, ordinal, statistic: index }],
  );

function completed(statistics: readonly Statistic[], rows: readonly StatisticPoints[], count: number) {
  const missing = createMissingParts();
  const stores = completeParts(statistics, rows, count, missing).map(({ store, parts }) => ({
    store,
    parts: parts.map((points) =>
      Array.from({ length: count }, (_, index) => (points?.present[index] === 1 ? points.values[index] : undefined)),
    ),
  }));
  return { stores, missing: missing.all().map(({ points, ...part }) => ({ ...part, points: [...points] })) };
}

describe("the parts of one store", () => {
  test("stay as they are at points that have all of them", () => {
    const rows = rowsOf(0, [
      [1, undefined, 3],
      [2, undefined, 4],
    ]);
    expect(completed(average, rows, 3)).toEqual({
      stores: [
        {
          store: 0,
          parts: [
            [1, undefined, 3],
            [2, undefined, 4],
          ],
        },
      ],
      missing: [],
    });
  });

  test("are 0 for a numerator that a denominator is counted without, at these points only", () => {
    const rows = rowsOf(0, [
      [undefined, 1, undefined],
      [5, 2, undefined],
    ]);
    expect(completed(ratio, rows, 3)).toEqual({
      stores: [
        {
          store: 0,
          parts: [
            [0, 1, undefined],
            [5, 2, undefined],
          ],
        },
      ],
      missing: [],
    });
  });

  test("are left out at points without a required one, which is named", () => {
    const rows = rowsOf(2, [
      [1, 1, undefined],
      [undefined, 2, 3],
    ]);
    expect(completed(average, rows, 3)).toEqual({
      stores: [
        {
          store: 2,
          parts: [
            [undefined, 1, undefined],
            [undefined, 2, undefined],
          ],
        },
      ],
      missing: [
        { store: 2, lacks: "number of observations", points: [1, 0, 0] },
        { store: 2, lacks: "sum", points: [0, 0, 1] },
      ],
    });
  });

  test("are left out when a required one has no series", () => {
    expect(completed(ratio, rowsOf(0, [[1, undefined], undefined]), 2)).toEqual({
      stores: [
        {
          store: 0,
          parts: [
            [undefined, undefined],
            [undefined, undefined],
          ],
        },
      ],
      missing: [{ store: 0, lacks: "denominator", points: [1, 0] }],
    });
  });

  test("do not complete those of another store, nor those of another store of one peer", () => {
    const rows = [
      ...rowsOf(0, [[1], undefined]),
      ...rowsOf(1, [undefined, [4]], "0"),
      ...rowsOf(1, [[3], undefined], "1"),
    ];
    const { stores, missing } = completed(average, rows, 1);
    expect(stores.flatMap(({ parts }) => parts.flat())).toEqual(Array.from({ length: 6 }, () => undefined));
    expect(missing.map(({ store, lacks }) => `${store} ${lacks}`)).toEqual([
      "0 number of observations",
      "1 number of observations",
      "1 sum",
    ]);
  });
});
