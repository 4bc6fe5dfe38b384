import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { pointSources, type SourcedRange } from "../../../../runtime/metrics/cache/extents.ts";
import {
  extentStatuses,
  formatExtents,
  listedExtentsMax,
} from "../../../../runtime/metrics/response/response-headers.ts";

const grid = { startMs: 60_000, stepMs: 15_000, count: 40 };
const range = (offset: number, count: number, source: SourcedRange["source"]): SourcedRange => ({
  store: "eu",
  startMs: grid.startMs + offset * grid.stepMs,
  stepMs: grid.stepMs,
  count,
  source,
});
const told = (...sourcedRanges: readonly SourcedRange[]): string => formatExtents(extentStatuses(sourcedRanges, grid));

describe("the cache status of each extent", () => {
  test.each([
    ["is one where all points are from one place", [range(0, 40, "memory")], "memory*40"],
    [
      "folds neighbours that are alike, whatever they were read with",
      [range(20, 19, "memory"), range(0, 20, "memory"), range(39, 1, "store")],
      "memory*39 store*1",
    ],
    [
      "is the farthest place that any range query of a point went to",
      [range(0, 40, "memory"), range(0, 30, "shared"), range(25, 15, "store")],
      "shared*25 store*15",
    ],
    [
      "says nothing of points that nothing was read for",
      [range(0, 10, "store"), range(30, 10, "store")],
      "store*10 store*10",
    ],
    ["is none where nothing was read", [], ""],
  ] as const)("%s", (_name, sourcedRanges, expected) => {
    expect(told(...sourcedRanges)).toBe(expected);
  });

  test("is bounded: of many extents it lists the newest, and it counts every point", () => {
    const of = record({
      offset: integer({ min: 0, max: 39 }),
      count: integer({ min: 1, max: 40 }),
      source: constantFrom(...pointSources),
    });
    assert(
      property(array(of, { maxLength: 60 }), (places) => {
        const line = told(
          range(0, 40, "memory"),
          ...places.map(({ offset, count, source }) => range(offset, Math.min(count, 40 - offset), source)),
        );
        const runs = line.split(" ").map((run) => run.split("*") as [string, string]);
        expect(runs.length).toBeLessThanOrEqual(listedExtentsMax);
        expect(runs.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(40);
        expect(runs.slice(1).every(([source], index) => source !== "mixed" && source !== runs[index]?.[0])).toBe(true);
      }),
    );
    const turns = Array.from({ length: 40 }, (_, index) => range(index, 1, index % 2 === 0 ? "memory" : "store"));
    expect(told(...turns)).toBe(
      `mixed*29 ${turns
        .slice(29)
        .map(({ source }) => `${source}*1`)
        .join(" ")}`,
    );
  });
});
