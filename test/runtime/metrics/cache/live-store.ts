import { cachedStores } from "../../../../runtime/metrics/cache/cached-stores.ts";
import type { Lifetimes } from "../../../../runtime/metrics/cache/extents.ts";
import type { ReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import { createByteBudget } from "../../../../runtime/stores/limits/fan-out.ts";
import type { StoreSeries, WarningClass } from "../../../../runtime/stores/prometheus/matrix.ts";
import type {
  PrometheusClient,
  RangeGrid,
  RangeResult,
} from "../../../../runtime/stores/prometheus/prometheus-client.ts";
import type { Store, Stores } from "../../../../runtime/stores/store.ts";
import { storeConfig } from "../oracle/universe.ts";

/** A store whose young points still change, asked through the cache. */

export const stepMs = 15_000;
export const settleSeconds = 60;
export const lifetimes: Lifetimes = { settledMs: 60_000, tailMs: 20_000 };
export const bytesMax = 8 * 1024 * 1024;

/** What is the case. */
export interface QueryContext {
  /** Unix milliseconds. */
  nowMs: number;
  asked: RangeGrid[];
  warning: WarningClass;
  failure: Error | undefined;
}

/**
 * What the store says of a point when it is asked at a time: undefined for a gap, and otherwise until it has settled.
 */
export function truth(series: string, timeMs: number, refreshMs: number): number | undefined {
  if (timeMs > refreshMs || (series === "gappy" && (timeMs / stepMs) % 7 < 3)) return undefined;
  const late = refreshMs - timeMs < settleSeconds * 1_000 ? Math.floor(refreshMs / 5_000) : 0;
  return timeMs / 1_000 + late / 1e6;
}

function answer(grid: RangeGrid, queryContext: QueryContext): RangeResult<StoreSeries> {
  const series = ["whole", "gappy"].flatMap((name): StoreSeries[] => {
    const values = new Float64Array(grid.count);
    const present = new Uint8Array(grid.count);
    for (let index = 0; index < grid.count; index += 1) {
      const value = truth(name, grid.startMs + index * stepMs, queryContext.nowMs);
      if (value === undefined) continue;
      values[index] = value;
      present[index] = 1;
    }
    return present.includes(1) ? [{ labels: { name }, values, present }] : [];
  });
  return { series, warning: queryContext.warning };
}

let named = 0;

/** The store as the only one of a set; a new one each time. */
export function storesOf(
  queryContext: QueryContext,
  config = storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" }, { settleSeconds }),
): Stores {
  const client: Partial<PrometheusClient> = {
    range: async (_query, grid) => {
      queryContext.asked.push(grid);
      if (queryContext.failure !== undefined) throw queryContext.failure;
      return answer(grid, queryContext);
    },
  };
  named += 1;
  const store = {
    config,
    client,
    identity: `store-${named}`,
    run: <Value>(work: () => Promise<Value>) => work(),
  } as Store;
  return { get: () => store, list: () => [] };
}

export interface Asked {
  readonly query?: string;
  readonly tenant?: string;
  readonly signal?: AbortSignal;
  /** @default those of this file */
  readonly lifetimes?: Lifetimes;
}

/** Nothing was asked yet. */
export function queryContextAt(nowMs: number): QueryContext {
  return { nowMs, asked: [], warning: "none", failure: undefined };
}

/** Points up to a time through a cache. */
export async function read(
  queryContext: QueryContext,
  stores: Stores,
  cache: ReadCache,
  grid: { endMs: number; count: number },
  { query = "q", tenant, signal = new AbortController().signal, lifetimes: own = lifetimes }: Asked = {},
) {
  const startMs = grid.endMs - (grid.count - 1) * stepMs;
  const cached = cachedStores(stores, cache, { lifetimes: own, nowMs: queryContext.nowMs });
  const call = { signal, tenant, bytes: createByteBudget() };
  const { series } = await cached.stores
    .get("eu")
    .client.range(query, { startMs, stepMs, count: grid.count, rangeMs: stepMs }, call);
  return { series, startMs, ...cached.counts() };
}

export const startOfDayMs = Date.parse("2026-01-01T00:00:00Z");
export const align = (timeMs: number): number => Math.floor(timeMs / stepMs) * stepMs;

/**
 * Places of a window at which a series has something else than its store had at any instant within its lifetime; see
 * {@link truth}.
 */
export function wrongPlaces(
  own: StoreSeries | undefined,
  name: string,
  { startMs, count, nowMs }: { startMs: number; count: number; nowMs: number },
  lives: Lifetimes = lifetimes,
): readonly number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) => {
    const timeMs = startMs + index * stepMs;
    const value = own?.present[index] === 1 ? own.values[index] : undefined;
    return !instantsOf(nowMs, timeMs, lives).some((refreshMs) => truth(name, timeMs, refreshMs) === value);
  });
}

/** All instants at which the store's answers differ, within the lifetime of the point. */
function instantsOf(nowMs: number, timeMs: number, { settledMs, sharedMs = 0, tailMs }: Lifetimes): readonly number[] {
  const longestMs = Math.max(settledMs, sharedMs);
  const ages = [...Array.from({ length: longestMs / 1_000 }, (_, seconds) => seconds * 1_000), tailMs - 1];
  return ages
    .map((ageMs) => nowMs - ageMs)
    .filter((refreshMs) => nowMs - refreshMs < tailMs || refreshMs - timeMs >= settleSeconds * 1_000);
}
