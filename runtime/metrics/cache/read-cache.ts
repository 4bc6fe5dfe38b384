import { BoundedMap } from "../../bounds/bounded-map.ts";
import { createSingleFlight, type SingleFlight } from "../../bounds/single-flight.ts";
import { createRangeCache, type RangeCache } from "./range-cache.ts";
import { createBackgroundRefreshes, type BackgroundRefreshes } from "./background-refresh.ts";
import type { SharedExtents } from "./shared-extents.ts";

/** One number that a store answered. */
interface InstantValue {
  readonly value: number | undefined;
  /** Unix milliseconds at which the store was asked. */
  readonly readAtMs: number;
}

/** Numbers of the last seconds; the oldest make way. */
interface InstantValues {
  /** What was read after a time, if anything was. */
  find(key: string, afterMs: number): InstantValue | undefined;
  keep(key: string, instantValue: InstantValue): void;
}

/** What all queries of a pod share of what they read. */
export interface ReadCache {
  readonly ranges: RangeCache;
  readonly instantValues: InstantValues;
  readonly flights: SingleFlight;
  /** What other pods know; undefined: there is nothing to share with them. */
  readonly shared: SharedExtents | undefined;
  readonly refreshes: BackgroundRefreshes;
}

interface ReadCacheOptions {
  /** What other pods know. @default nothing */
  readonly shared?: SharedExtents | undefined;
  /** @default nobody is told how they end */
  readonly refreshes?: BackgroundRefreshes;
}

/** About 300 bytes each. */
const instantValuesMax = 20_000;

/** An empty cache. */
export function createReadCache(
  bytesMax: number,
  { shared, refreshes = createBackgroundRefreshes() }: ReadCacheOptions = {},
): ReadCache {
  return {
    ranges: createRangeCache(bytesMax),
    instantValues: createInstantValues(),
    flights: createSingleFlight(),
    shared,
    refreshes,
  };
}

function createInstantValues(): InstantValues {
  const kept = new BoundedMap<string, InstantValue>(instantValuesMax);
  return {
    find(key, afterMs) {
      const instantValue = kept.get(key);
      return instantValue !== undefined && instantValue.readAtMs > afterMs ? instantValue : undefined;
    },
    keep: (key, instantValue) => kept.set(key, instantValue),
  };
}
