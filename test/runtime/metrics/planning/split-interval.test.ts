import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { joinHistograms, joinSeries } from "../../../../runtime/metrics/cache/series-kind.ts";
import { type RangeSplit, splitRange } from "../../../../runtime/metrics/planning/plan.ts";
import type { PointGrid } from "../../../../runtime/stores/prometheus/matrix.ts";
import { seriesOf } from "../points.ts";

const grids: fc.Arbitrary<PointGrid> = fc
  .record({
    stepSeconds: fc.constantFrom(10, 15, 60, 77, 300, 3_600, 3_601, 7_200, 86_400, 172_800),
    first: fc.integer({ min: 1, max: 3_000_000 }),
    phaseSeconds: fc.constantFrom(0, 5, 40),
    count: fc.integer({ min: 1, max: 3_000 }),
  })
  .map(({ stepSeconds, first, phaseSeconds, count }) => ({
    startMs: (first * stepSeconds + phaseSeconds) * 1_000,
    stepMs: stepSeconds * 1_000,
    count,
  }));

const timesOf = ({ startMs, stepMs, count }: PointGrid): readonly number[] =>
  Array.from({ length: count }, (_, index) => startMs + index * stepMs);

describe("the splits of a grid", () => {
  test("contain its points, each once and in order", () => {
    fc.assert(
      fc.property(grids, (grid) => {
        const splits = splitRange(grid, grid.stepMs);
        expect(splits.flatMap(({ grid: own }) => timesOf(own))).toEqual(timesOf(grid));
        expect(splits.map(({ offset }) => offset)).toEqual(
          splits.map((_, index) => splits.slice(0, index).reduce((sum, { grid: own }) => sum + own.count, 0)),
        );
      }),
    );
  });

  test("of two overlapping windows end at the same points", () => {
    const endsInside = ({ startMs, stepMs, count }: PointGrid, from: number, to: number): readonly number[] =>
      splitRange({ startMs, stepMs, count }, stepMs)
        .slice(0, -1)
        .map(({ grid }) => grid.startMs + (grid.count - 1) * grid.stepMs)
        .filter((ms) => ms >= from && ms < to);
    fc.assert(
      fc.property(
        grids,
        fc.integer({ min: 0, max: 2_000 }),
        fc.integer({ min: 1, max: 2_000 }),
        (grid, skipped, count) => {
          const other = { ...grid, startMs: grid.startMs + skipped * grid.stepMs, count };
          const [from, to] = [other.startMs, Math.min(timesOf(grid).at(-1) ?? 0, timesOf(other).at(-1) ?? 0)];
          expect(endsInside(grid, from, to)).toEqual(endsInside(other, from, to));
        },
      ),
    );
  });

  test("are whole days for points of five minutes, and a dozen of them for points of an hour", () => {
    const week = { startMs: Date.parse("2026-01-01T00:05:00Z"), stepMs: 300_000, count: 7 * 288 };
    expect(splitRange(week, week.stepMs).map(({ grid }) => grid.count)).toEqual(Array(7).fill(288));
    const quarter = { startMs: Date.parse("2026-01-01T01:00:00Z"), stepMs: 3_600_000, count: 90 * 24 };
    expect(Math.max(...splitRange(quarter, quarter.stepMs).map(({ grid }) => grid.count))).toBe(288);
    expect(splitRange(quarter, quarter.stepMs).length).toBeLessThanOrEqual(9);
  });

  test("are one for a window inside a day", () => {
    expect(
      splitRange({ startMs: Date.parse("2026-01-01T10:00:15Z"), stepMs: 15_000, count: 720 }, 15_000),
    ).toHaveLength(1);
  });
});

describe("the series of several splits", () => {
  const split = (offset: number, count: number): RangeSplit => ({
    offset,
    grid: { startMs: offset, stepMs: 1, count },
  });
  const whole = { startMs: 0, stepMs: 1, count: 4 };

  test("are joined by labels, with gaps where a split has no such series", () => {
    const answers = [
      { split: split(0, 2), series: [seriesOf([1, undefined], { a: "x", b: "y" }), seriesOf([7, 8], { a: "z" })] },
      { split: split(2, 2), series: [seriesOf([3, 4], { b: "y", a: "x" })] },
    ];
    expect(joinSeries(answers, whole)).toEqual([
      seriesOf([1, undefined, 3, 4], { a: "x", b: "y" }),
      seriesOf([7, 8, undefined, undefined], { a: "z" }),
    ]);
  });

  test("are taken unchanged from a single split", () => {
    const series = [seriesOf([1, 2, 3, 4])];
    expect(joinSeries([{ split: split(0, 4), series }], whole)).toBe(series);
  });

  test("are joined for native histograms too", () => {
    const histogram = (count: number) => ({ count, sum: count, buckets: [] });
    const answers = [
      { split: split(0, 3), series: [{ labels: {}, histograms: [histogram(1), undefined, histogram(2)] }] },
      { split: split(3, 1), series: [{ labels: {}, histograms: [histogram(3)] }] },
    ];
    expect(joinHistograms(answers, whole)).toEqual([
      { labels: {}, histograms: [histogram(1), undefined, histogram(2), histogram(3)] },
    ]);
  });
});
