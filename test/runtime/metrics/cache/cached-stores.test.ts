import { array, assert, asyncProperty, constantFrom, integer, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { createReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import {
  align,
  bytesMax,
  lifetimes,
  read,
  startOfDayMs,
  stepMs,
  storesOf,
  truth,
  queryContextAt,
  wrongPlaces,
} from "./live-store.ts";

/** Every point that the cache gives was the store's of late. */

describe("a point from the cache", () => {
  test("has a value that the store had within its lifetime, over windows that slide, jump and overlap", async () => {
    const step = record({
      waitMs: integer({ min: 0, max: 45_000 }),
      count: integer({ min: 1, max: 60 }),
      backSteps: constantFrom(0, 0, 0, 1, 5, 40),
    });
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const queryContext = queryContextAt(startOfDayMs + 3_600_000);
        const [stores, cache] = [storesOf(queryContext), createReadCache(bytesMax)];
        for (const { waitMs, count, backSteps } of steps) {
          queryContext.nowMs += waitMs;
          const { series, startMs } = await read(queryContext, stores, cache, {
            endMs: align(queryContext.nowMs) - backSteps * stepMs,
            count,
          });
          for (const name of ["whole", "gappy"]) {
            const own = series.find(({ labels }) => labels["name"] === name);
            const wrong = wrongPlaces(own, name, { startMs, count, nowMs: queryContext.nowMs });
            expect({ wrong, isGhost: own?.present.includes(1) === false }).toEqual({ wrong: [], isGhost: false });
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  test("includes a late sample after the lifetime of the tail", async () => {
    const queryContext = queryContextAt(startOfDayMs + 3_600_000);
    const [stores, cache] = [storesOf(queryContext), createReadCache(bytesMax)];
    const grid = { endMs: align(queryContext.nowMs), count: 2 };
    const before = await read(queryContext, stores, cache, grid);
    queryContext.nowMs += lifetimes.tailMs - 1;
    expect((await read(queryContext, stores, cache, grid)).series).toEqual(before.series);
    queryContext.nowMs += 1;
    const after = await read(queryContext, stores, cache, grid);
    expect(after.series[0]?.values[1]).toBe(truth("whole", grid.endMs, queryContext.nowMs));
    expect(after.miss).toBe(2);
  });
});

describe("a window that slides by one step", () => {
  test("reads its new points and its tail, not its settled points", async () => {
    const queryContext = queryContextAt(startOfDayMs + 3_600_000);
    const [stores, cache] = [storesOf(queryContext), createReadCache(bytesMax)];
    await read(queryContext, stores, cache, { endMs: align(queryContext.nowMs), count: 720 });
    queryContext.nowMs += stepMs;
    const { hit, miss } = await read(queryContext, stores, cache, { endMs: align(queryContext.nowMs), count: 720 });
    expect([hit, miss]).toEqual([719, 1]);
    queryContext.nowMs += stepMs;
    const third = await read(queryContext, stores, cache, { endMs: align(queryContext.nowMs), count: 720 });
    expect(third.miss).toBeLessThanOrEqual(6);
    expect(queryContext.asked).toHaveLength(3);
  });
});

describe("a cached extent", () => {
  test("serves equal queries only: not another tenant, query or configuration of the store", async () => {
    const queryContext = queryContextAt(startOfDayMs);
    const cache = createReadCache(bytesMax);
    const stores = storesOf(queryContext);
    const grid = { endMs: startOfDayMs - 600_000, count: 10 };
    await read(queryContext, stores, cache, grid, { tenant: "a" });
    expect((await read(queryContext, stores, cache, grid, { tenant: "a" })).miss).toBe(0);
    expect((await read(queryContext, stores, cache, grid, { tenant: "b" })).hit).toBe(0);
    expect((await read(queryContext, stores, cache, grid, { tenant: "a", query: "other" })).hit).toBe(0);
    expect((await read(queryContext, storesOf(queryContext), cache, grid, { tenant: "a" })).hit).toBe(0);
  });

  test("is neither of an incomplete response nor of a failure", async () => {
    const queryContext = queryContextAt(startOfDayMs);
    const [stores, cache] = [storesOf(queryContext), createReadCache(bytesMax)];
    const grid = { endMs: startOfDayMs - 600_000, count: 10 };
    queryContext.warning = "incomplete";
    await read(queryContext, stores, cache, grid);
    queryContext.failure = new Error("down");
    await expect(read(queryContext, stores, cache, grid)).rejects.toThrow("down");
    Object.assign(queryContext, { warning: "none", failure: undefined });
    expect((await read(queryContext, stores, cache, grid)).miss).toBe(10);
    expect((await read(queryContext, stores, cache, grid)).hit).toBe(10);
  });

  test("counts towards the bound in bytes; the least recently used query is removed first", async () => {
    const queryContext = queryContextAt(startOfDayMs);
    const [stores, cache] = [storesOf(queryContext), createReadCache(40_000)];
    const grid = { endMs: startOfDayMs - 600_000, count: 500 };
    for (const query of ["a", "b", "c", "d", "e", "f"]) await read(queryContext, stores, cache, grid, { query });
    expect(cache.ranges.bytes()).toBeLessThanOrEqual(40_000);
    expect((await read(queryContext, stores, cache, grid, { query: "f" })).hit).toBe(500);
    expect((await read(queryContext, stores, cache, grid, { query: "a" })).hit).toBe(0);
  });
});

describe("equal concurrent reads", () => {
  test("are one request, which continues until its last caller has left", async () => {
    const queryContext = queryContextAt(startOfDayMs);
    const [stores, cache] = [storesOf(queryContext), createReadCache(bytesMax)];
    const grid = { endMs: startOfDayMs - 600_000, count: 10 };
    const leaving = new AbortController();
    const first = read(queryContext, stores, cache, grid, { signal: leaving.signal });
    const others = Array.from({ length: 49 }, () => read(queryContext, stores, cache, grid));
    leaving.abort(new Error("left"));
    await expect(first).rejects.toThrow("left");
    const answers = await Promise.all(others);
    expect(queryContext.asked).toHaveLength(1);
    expect(answers.every(({ series }) => series.length === 2)).toBe(true);
  });
});
