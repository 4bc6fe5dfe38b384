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
  worldAt,
  wrongPlaces,
} from "./live-store.ts";

/** Every point that the cache gives was the store's of late. */

describe("a point from the cache", () => {
  test("equals the store's at some instant within its lifetime, over windows that slide, jump and overlap", async () => {
    const step = record({
      waitMs: integer({ min: 0, max: 45_000 }),
      count: integer({ min: 1, max: 60 }),
      backSteps: constantFrom(0, 0, 0, 1, 5, 40),
    });
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const world = worldAt(startOfDayMs + 3_600_000);
        const [stores, cache] = [storesOf(world), createReadCache(bytesMax)];
        for (const { waitMs, count, backSteps } of steps) {
          world.nowMs += waitMs;
          const { series, startMs } = await read(world, stores, cache, {
            endMs: align(world.nowMs) - backSteps * stepMs,
            count,
          });
          for (const name of ["whole", "gappy"]) {
            const own = series.find(({ labels }) => labels["name"] === name);
            const wrong = wrongPlaces(own, name, { startMs, count, nowMs: world.nowMs });
            expect({ wrong, isGhost: own?.present.includes(1) === false }).toEqual({ wrong: [], isGhost: false });
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  test("is a late sample's once the tail's lifetime is over", async () => {
    const world = worldAt(startOfDayMs + 3_600_000);
    const [stores, cache] = [storesOf(world), createReadCache(bytesMax)];
    const grid = { endMs: align(world.nowMs), count: 2 };
    const before = await read(world, stores, cache, grid);
    world.nowMs += lifetimes.tailMs - 1;
    expect((await read(world, stores, cache, grid)).series).toEqual(before.series);
    world.nowMs += 1;
    const after = await read(world, stores, cache, grid);
    expect(after.series[0]?.values[1]).toBe(truth("whole", grid.endMs, world.nowMs));
    expect(after.miss).toBe(2);
  });
});

describe("a window that slides by one step", () => {
  test("reads its new points and its tail, not what has settled", async () => {
    const world = worldAt(startOfDayMs + 3_600_000);
    const [stores, cache] = [storesOf(world), createReadCache(bytesMax)];
    await read(world, stores, cache, { endMs: align(world.nowMs), count: 720 });
    world.nowMs += stepMs;
    const { hit, miss } = await read(world, stores, cache, { endMs: align(world.nowMs), count: 720 });
    expect([hit, miss]).toEqual([719, 1]);
    world.nowMs += stepMs;
    const third = await read(world, stores, cache, { endMs: align(world.nowMs), count: 720 });
    expect(third.miss).toBeLessThanOrEqual(6);
    expect(world.asked).toHaveLength(3);
  });
});

describe("what is known", () => {
  test("is shared by equal queries only: not over tenants, queries or another configuration of the store", async () => {
    const world = worldAt(startOfDayMs);
    const cache = createReadCache(bytesMax);
    const stores = storesOf(world);
    const grid = { endMs: startOfDayMs - 600_000, count: 10 };
    await read(world, stores, cache, grid, { tenant: "a" });
    expect((await read(world, stores, cache, grid, { tenant: "a" })).miss).toBe(0);
    expect((await read(world, stores, cache, grid, { tenant: "b" })).hit).toBe(0);
    expect((await read(world, stores, cache, grid, { tenant: "a", query: "other" })).hit).toBe(0);
    expect((await read(world, storesOf(world), cache, grid, { tenant: "a" })).hit).toBe(0);
  });

  test("holds no answer that was not whole, and no failure", async () => {
    const world = worldAt(startOfDayMs);
    const [stores, cache] = [storesOf(world), createReadCache(bytesMax)];
    const grid = { endMs: startOfDayMs - 600_000, count: 10 };
    world.warning = "incomplete";
    await read(world, stores, cache, grid);
    world.failure = new Error("down");
    await expect(read(world, stores, cache, grid)).rejects.toThrow("down");
    Object.assign(world, { warning: "none", failure: undefined });
    expect((await read(world, stores, cache, grid)).miss).toBe(10);
    expect((await read(world, stores, cache, grid)).hit).toBe(10);
  });

  test("stays within its bytes; the query unused for longest makes way", async () => {
    const world = worldAt(startOfDayMs);
    const [stores, cache] = [storesOf(world), createReadCache(40_000)];
    const grid = { endMs: startOfDayMs - 600_000, count: 500 };
    for (const query of ["a", "b", "c", "d", "e", "f"]) await read(world, stores, cache, grid, { query });
    expect(cache.ranges.bytes()).toBeLessThanOrEqual(40_000);
    expect((await read(world, stores, cache, grid, { query: "f" })).hit).toBe(500);
    expect((await read(world, stores, cache, grid, { query: "a" })).hit).toBe(0);
  });
});

describe("equal reads at the same time", () => {
  test("are one request, which goes on while anybody waits", async () => {
    const world = worldAt(startOfDayMs);
    const [stores, cache] = [storesOf(world), createReadCache(bytesMax)];
    const grid = { endMs: startOfDayMs - 600_000, count: 10 };
    const leaving = new AbortController();
    const first = read(world, stores, cache, grid, { signal: leaving.signal });
    const others = Array.from({ length: 49 }, () => read(world, stores, cache, grid));
    leaving.abort(new Error("left"));
    await expect(first).rejects.toThrow("left");
    const answers = await Promise.all(others);
    expect(world.asked).toHaveLength(1);
    expect(answers.every(({ series }) => series.length === 2)).toBe(true);
  });
});
