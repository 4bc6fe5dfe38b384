import { array, assert, asyncProperty, constantFrom, integer, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { cachedStores } from "../../../../runtime/metrics/cache/cached-stores.ts";
import type { Lifetimes } from "../../../../runtime/metrics/cache/pieces.ts";
import { createReadCache, type ReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import { createByteBudget } from "../../../../runtime/stores/byte-budget.ts";
import type { StoreSeries } from "../../../../runtime/stores/matrix.ts";
import type { PrometheusClient, RangeAnswer, RangeGrid } from "../../../../runtime/stores/prometheus-client.ts";
import type { StoreSet } from "../../../../runtime/stores/store-set.ts";
import type { Store } from "../../../../runtime/stores/store.ts";
import type { WarningClass } from "../../../../runtime/stores/warnings.ts";
import { storeConfig } from "../oracle/universe.ts";

/** A store whose young points still change is asked through the cache: every point it gives was the store's of late. */

const stepMs = 15_000;
const settleSeconds = 60;
const lifetimes: Lifetimes = { settledMs: 60_000, tailMs: 20_000 };
const bytesMax = 8 * 1024 * 1024;

interface World {
  /** Unix milliseconds. */
  nowMs: number;
  asked: RangeGrid[];
  warning: WarningClass;
  failure: Error | undefined;
}

/** What the store says of a point when it is asked at a time: undefined for a gap, and otherwise until it has settled. */
function truth(series: string, timeMs: number, askedMs: number): number | undefined {
  if (timeMs > askedMs || (series === "gappy" && (timeMs / stepMs) % 7 < 3)) return undefined;
  const late = askedMs - timeMs < settleSeconds * 1_000 ? Math.floor(askedMs / 5_000) : 0;
  return timeMs / 1_000 + late / 1e6;
}

function answer(grid: RangeGrid, world: World): RangeAnswer<StoreSeries> {
  const series = ["whole", "gappy"].flatMap((name): StoreSeries[] => {
    const values = new Float64Array(grid.count);
    const present = new Uint8Array(grid.count);
    for (let index = 0; index < grid.count; index += 1) {
      const value = truth(name, grid.startMs + index * stepMs, world.nowMs);
      if (value === undefined) continue;
      values[index] = value;
      present[index] = 1;
    }
    return present.includes(1) ? [{ labels: { name }, values, present }] : [];
  });
  return { series, warning: world.warning };
}

function storesOf(world: World, config = storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" }, { settleSeconds })): StoreSet {
  const client: Partial<PrometheusClient> = {
    range: async (_query, grid) => {
      world.asked.push(grid);
      if (world.failure !== undefined) throw world.failure;
      return answer(grid, world);
    },
  };
  const store = { config, client } as Store;
  return { get: () => store, list: () => [], apply: () => undefined, stop: async () => undefined };
}

interface Asked {
  readonly query?: string;
  readonly tenant?: string;
  readonly signal?: AbortSignal;
}

function worldAt(nowMs: number): World {
  return { nowMs, asked: [], warning: "none", failure: undefined };
}

async function read(world: World, stores: StoreSet, cache: ReadCache, grid: { endMs: number; count: number }, { query = "q", tenant, signal = new AbortController().signal }: Asked = {}) {
  const startMs = grid.endMs - (grid.count - 1) * stepMs;
  const cached = cachedStores(stores, cache, lifetimes, world.nowMs);
  const call = { signal, tenant, bytes: createByteBudget() };
  const { series } = await cached.stores.get("eu").client.range(query, { startMs, stepMs, count: grid.count, rangeMs: stepMs }, call);
  return { series, startMs, ...cached.counts() };
}

const startOfDayMs = Date.parse("2026-01-01T00:00:00Z");
const align = (timeMs: number): number => Math.floor(timeMs / stepMs) * stepMs;

describe("a point from the cache", () => {
  test("equals the store's at some instant within its lifetime, over windows that slide, jump and overlap", async () => {
    const step = record({ waitMs: integer({ min: 0, max: 45_000 }), count: integer({ min: 1, max: 60 }), backSteps: constantFrom(0, 0, 0, 1, 5, 40) });
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const world = worldAt(startOfDayMs + 3_600_000);
        const [stores, cache] = [storesOf(world), createReadCache(bytesMax)];
        for (const { waitMs, count, backSteps } of steps) {
          world.nowMs += waitMs;
          const { series, startMs } = await read(world, stores, cache, { endMs: align(world.nowMs) - backSteps * stepMs, count });
          for (const name of ["whole", "gappy"]) {
            const own = series.find(({ labels }) => labels["name"] === name);
            const wrong = Array.from({ length: count }, (_, index) => index).filter((index) => {
              const timeMs = startMs + index * stepMs;
              const value = own?.present[index] === 1 ? own.values[index] : undefined;
              return !instantsOf(world.nowMs, timeMs).some((askedMs) => truth(name, timeMs, askedMs) === value);
            });
            expect({ wrong, isGhost: own?.present.includes(1) === false }).toEqual({ wrong: [], isGhost: false });
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  /** All instants at which the store's answers differ, within the lifetime of the point. */
  function instantsOf(nowMs: number, timeMs: number): readonly number[] {
    const ages = [...Array.from({ length: lifetimes.settledMs / 1_000 }, (_, seconds) => seconds * 1_000), lifetimes.tailMs - 1];
    return ages.map((ageMs) => nowMs - ageMs).filter((askedMs) => nowMs - askedMs < lifetimes.tailMs || askedMs - timeMs >= settleSeconds * 1_000);
  }

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
