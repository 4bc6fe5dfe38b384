import { array, assert, asyncProperty, constantFrom, integer, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { cachedStores } from "../../../../runtime/metrics/cache/cached-stores.ts";
import type { Lifetimes } from "../../../../runtime/metrics/cache/extents.ts";
import { createReadCache, type ReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import { createByteBudget } from "../../../../runtime/stores/limits/fan-out.ts";
import type { StoreSeries } from "../../../../runtime/stores/prometheus/matrix.ts";
import type { Narrower, PrometheusClient } from "../../../../runtime/stores/prometheus/prometheus-client.ts";
import type { Store, Stores } from "../../../../runtime/stores/store.ts";
import { storeConfig } from "../oracle/universe.ts";
import { bytesMax, settleSeconds, startOfDayMs, truth } from "./live-store.ts";

/** Wide points that are made of narrower ones, over a store whose young samples still change. */

const sampleMs = 15_000;
const lifetimes: Lifetimes = { settledMs: 60_000, tailMs: 20_000 };
const merges = ["sum", "min", "max"] as const;
type Merge = Narrower["merge"];

interface Shop {
  nowMs: number;
  asked: number;
  readonly stores: Stores;
  readonly cache: ReadCache;
}

/** What the store says of one point of a width. */
function pointOf(
  name: string,
  merge: Merge,
  { timeMs, widthMs, refreshMs }: { timeMs: number; widthMs: number; refreshMs: number },
): number | undefined {
  const samples: number[] = [];
  for (let at = timeMs - widthMs + sampleMs; at <= timeMs; at += sampleMs) {
    const value = truth(name, at, refreshMs);
    // Not all of a sign or in order, and some of them no numbers.
    if (value !== undefined) {
      samples.push(
        name === "whole" ? ((at / sampleMs) % 7) - 3 + value / 1e9 : (at / sampleMs) % 11 === 0 ? Number.NaN : value,
      );
    }
  }
  if (samples.length === 0) return undefined;
  const numbers = samples.filter((value) => !Number.isNaN(value));
  if (merge === "sum") return samples.reduce((sum, value) => sum + value, 0);
  return numbers.length === 0 ? Number.NaN : Math[merge](...numbers);
}

const print = (merge: Merge, widthMs: number): string => `${merge} ${widthMs}`;

function shopAt(nowMs: number): Shop {
  const shop = { nowMs, asked: 0 };
  const config = storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" }, { settleSeconds });
  const client: Partial<PrometheusClient> = {
    async range(query, { startMs, stepMs, count }) {
      shop.asked += 1;
      const [merge, width] = query.split(" ") as [Merge, string];
      const series = ["whole", "gappy"].flatMap((name): StoreSeries[] => {
        const values = new Float64Array(count);
        const present = new Uint8Array(count);
        for (let index = 0; index < count; index += 1) {
          const value = pointOf(name, merge, {
            timeMs: startMs + index * stepMs,
            widthMs: Number(width),
            refreshMs: shop.nowMs,
          });
          if (value === undefined) continue;
          values[index] = value;
          present[index] = 1;
        }
        return present.includes(1) ? [{ labels: { name }, values, present }] : [];
      });
      return { series, warning: "none" };
    },
  };
  const store = { config, client, identity: "store", run: <Value>(work: () => Promise<Value>) => work() } as Store;
  return Object.assign(shop, {
    stores: { get: () => store, list: () => [], apply: () => undefined, stop: async () => undefined },
    cache: createReadCache(bytesMax),
  });
}

interface Wide {
  readonly endMs: number;
  readonly count: number;
  readonly widthMs: number;
  readonly merge: Merge;
  /** @default true */
  readonly mayMerge?: boolean;
}

async function ask(shop: Shop, { endMs, count, widthMs, merge, mayMerge = true }: Wide) {
  const cached = cachedStores(shop.stores, shop.cache, { lifetimes, nowMs: shop.nowMs });
  const grid = { startMs: endMs - (count - 1) * widthMs, stepMs: widthMs, count, rangeMs: widthMs };
  const narrower = mayMerge ? { merge, print: (other: number) => print(merge, other) } : undefined;
  const call = { signal: new AbortController().signal, tenant: undefined, bytes: createByteBudget() };
  const { series } = await cached.stores.get("eu").client.range(print(merge, widthMs), { ...grid, narrower }, call);
  return { series, ...cached.counts() };
}

const align = (timeMs: number, widthMs: number): number => Math.floor(timeMs / widthMs) * widthMs;

/** Whether some instant within a wide point's lifetime explains it. */
function isExplained(shop: Shop, series: readonly StoreSeries[], wide: Wide): readonly string[] {
  return ["whole", "gappy"].flatMap((name) => {
    const own = series.find(({ labels }) => labels["name"] === name);
    return Array.from({ length: wide.count }, (_, index) => index).flatMap((index) => {
      const timeMs = wide.endMs - (wide.count - 1 - index) * wide.widthMs;
      const found = own?.present[index] === 1 ? own.values[index] : undefined;
      const ages = [...Array.from({ length: 60 }, (_none, seconds) => seconds * 1_000), lifetimes.tailMs - 1].filter(
        (ageMs) => ageMs < lifetimes.tailMs || shop.nowMs - ageMs - timeMs >= settleSeconds * 1_000,
      );
      const fits = ages.some((ageMs) =>
        isEqual(
          found,
          pointOf(name, wide.merge, { timeMs, widthMs: wide.widthMs, refreshMs: shop.nowMs - ageMs }),
          wide.merge,
        ),
      );
      return fits ? [] : [`${name} ${wide.merge} ${new Date(timeMs).toISOString()}: ${found}`];
    });
  });
}

/** Sums may differ by the order of their terms; all else is equal to the last bit. */
function isEqual(found: number | undefined, wanted: number | undefined, merge: Merge): boolean {
  if (found === undefined || wanted === undefined || Number.isNaN(wanted)) return Object.is(found, wanted);
  return merge === "sum" ? Math.abs(found - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted)) : found === wanted;
}

describe("a wide point whose narrower points are cached", () => {
  test.each(merges)("is rolled up without a read of the store: %s", async (merge) => {
    const shop = shopAt(startOfDayMs + 3_600_000);
    const endMs = align(shop.nowMs, 300_000);
    await ask(shop, { endMs, count: 60, widthMs: 60_000, merge });
    const wide = { endMs, count: 12, widthMs: 300_000, merge };
    const made = await ask(shop, wide);
    expect(made).toMatchObject({ hit: 12, finer: 12, miss: 0 });
    expect(shop.asked).toBe(1);
    expect(isExplained(shop, made.series, wide)).toEqual([]);
    const direct = await ask(shopAt(shop.nowMs), wide);
    expect(made.series.map(({ labels, present }) => [labels, present])).toEqual(
      direct.series.map(({ labels, present }) => [labels, present]),
    );
  });

  test.each([
    ["a narrower one is missing", { count: 13 }],
    ["they do not fit into it", { widthMs: 90_000, count: 10 }],
    ["its kind does not add up over time", { mayMerge: false }],
    ["another statistic is wanted", { merge: "min" }],
  ] as const)("is asked of the store where %s", async (_name, change) => {
    const shop = shopAt(startOfDayMs + 3_600_000);
    const endMs = align(shop.nowMs, 300_000);
    await ask(shop, { endMs, count: 60, widthMs: 60_000, merge: "sum" });
    const { finer, miss } = await ask(shop, {
      endMs: align(endMs, 90_000),
      count: 12,
      widthMs: 300_000,
      merge: "sum",
      ...change,
    });
    expect([finer, miss, shop.asked]).toEqual([0, "count" in change ? change.count : 12, 2]);
  });

  test("has the lifetime of the narrower points", async () => {
    const shop = shopAt(startOfDayMs + 3_600_000);
    const endMs = align(shop.nowMs, 300_000);
    await ask(shop, { endMs, count: 60, widthMs: 60_000, merge: "sum" });
    const wide = { endMs, count: 12, widthMs: 300_000, merge: "sum" } as const;
    shop.nowMs += lifetimes.tailMs - 1;
    expect(await ask(shop, wide)).toMatchObject({ finer: 12 });
    shop.nowMs += 1;
    expect(await ask(shop, wide)).toMatchObject({ finer: 0, miss: 12 });
  });

  test("has a value that the store had within its lifetime, over changing widths, windows and data", async () => {
    let [finers, misses] = [0, 0];
    const step = record({
      waitMs: integer({ min: 0, max: 25_000 }),
      count: integer({ min: 1, max: 12 }),
      back: integer({ min: 0, max: 2 }),
      widthMs: constantFrom(15_000, 30_000, 60_000, 60_000, 120_000, 300_000),
      merge: constantFrom(...merges),
    });
    await assert(
      asyncProperty(array(step, { minLength: 2, maxLength: 25 }), async (steps) => {
        const shop = shopAt(startOfDayMs + 3_600_000);
        for (const { waitMs, count, back, widthMs, merge } of steps) {
          shop.nowMs += waitMs;
          const points = count * (300_000 / widthMs);
          const wide = {
            endMs: align(shop.nowMs, widthMs) - back * widthMs,
            count: widthMs >= 120_000 ? count : points,
            widthMs,
            merge,
          };
          const { series, finer, miss } = await ask(shop, wide);
          finers += finer;
          misses += miss;
          expect(isExplained(shop, series, wide)).toEqual([]);
        }
      }),
      { numRuns: 100 },
    );
    // Else nothing was tried.
    expect(finers).toBeGreaterThan(100);
    expect(misses).toBeGreaterThan(100);
  });
});
