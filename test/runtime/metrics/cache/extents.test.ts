import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CachedExtent,
  cover,
  createRangeCache,
  type Lifetimes,
} from "../../../../runtime/metrics/cache/extents.ts";
import type { PointGrid } from "../../../../runtime/stores/prometheus/matrix.ts";

const stepMs = 1_000;
const nowMs = 1_000_000;

const extents = fc.array(
  fc.record({ first: fc.integer({ min: -20, max: 40 }), count: fc.integer({ min: 1, max: 25 }), age: fc.nat(40) }),
  { maxLength: 12 },
);
const made = extents.map((all) =>
  all.map(({ first, count, age }, place): CachedExtent<number> => ({
    startMs: nowMs - 60_000 + first * stepMs,
    stepMs,
    count,
    series: [place],
    readAtMs: nowMs - age * 500,
    settledUntilMs: nowMs - 45_000,
  })),
);
const grid: PointGrid = { startMs: nowMs - 60_000, stepMs, count: 30 };
const lifetimes: Lifetimes = { settledMs: 12_000, tailMs: 5_000 };

/** The extent of a point by definition: the newest within the lifetime of the point, of equal ones the first. */
function extentAt(all: readonly CachedExtent<number>[], ms: number): CachedExtent<number> | undefined {
  const own = all.filter(({ startMs, count, readAtMs, settledUntilMs }) => {
    const ageMs = nowMs - readAtMs;
    const isSettled = ms <= settledUntilMs;
    const lifetimeMs = isSettled ? lifetimes.settledMs : lifetimes.tailMs;
    return ms >= startMs && ms < startMs + count * stepMs && ageMs < lifetimeMs;
  });
  return own.toSorted((one, other) => other.readAtMs - one.readAtMs)[0];
}

describe("the extents that cover a grid", () => {
  test("are the newest of each point, and the gap reaches from the first missing point to the last", () => {
    fc.assert(
      fc.property(made, (all) => {
        const { runs, gap } = cover(all, grid, lifetimes, nowMs);
        const byPoint = Array.from({ length: grid.count }, (_, at) => extentAt(all, grid.startMs + at * stepMs));
        const [first, last] = [byPoint.indexOf(undefined), byPoint.lastIndexOf(undefined)];
        const expected = byPoint.map((extent, at) => (first !== -1 && at >= first && at <= last ? undefined : extent));
        const found = Array.from<CachedExtent<number> | undefined>({ length: grid.count });
        for (const { extent, offset, count } of runs) found.fill(extent, offset, offset + count);
        expect(found).toEqual(expected);
        const missing = { startMs: grid.startMs + first * stepMs, stepMs, count: last - first + 1 };
        expect(gap).toEqual(first === -1 ? undefined : missing);
      }),
      { numRuns: 2_000 },
    );
  });

  test("are found among hundreds of windows of one query, of which a cache has the newest", () => {
    const cache = createRangeCache(1e9);
    const add = (place: number): void => {
      const startMs = nowMs - place * 60_000;
      cache.add("key", { startMs, stepMs, count: 60, series: [], readAtMs: nowMs, settledUntilMs: nowMs }, 100);
    };
    for (let place = 1; place <= 300; place += 1) add(place);
    expect(cache.extents("key").length).toBe(256);
    expect(cache.bytes()).toBe(256 * 100 + 1_024);
    const own = { startMs: nowMs - 300 * 60_000, stepMs, count: 60 };
    expect(cover(cache.extents("key"), own, lifetimes, nowMs).gap).toBeUndefined();
    add(300);
    // The same window shadows the earlier read of it.
    expect(cache.extents("key").length).toBe(256);
  });
});
