import { BoundedMap } from "../../bounds/bounded-map.ts";
import { createSingleFlight, type SingleFlight } from "../../bounds/single-flight.ts";
import { createRangeCache, type RangeCache } from "./range-cache.ts";
import { createBackgroundRefreshes, type BackgroundRefreshes } from "./background-refresh.ts";
import type { SharedExtents } from "./shared-extents.ts";

/** The value of an instant query; undefined when the store had none. */
interface InstantValue {
  readonly value: number | undefined;
  /** Unix milliseconds of the read. */
  readonly readAtMs: number;
}

/** Recent instant values; the oldest ones are removed first. */
interface InstantValues {
  /** The value, if it was read after a time. */
  find(key: string, afterMs: number): InstantValue | undefined;
  set(key: string, instantValue: InstantValue): void;
}

/** The caches that all queries of a pod share. */
export interface ReadCache {
  readonly ranges: RangeCache;
  readonly instantValues: InstantValues;
  readonly singleFlight: SingleFlight;
  /** Undefined when pods share no extents. */
  readonly shared: SharedExtents | undefined;
  readonly refreshes: BackgroundRefreshes;
}

interface ReadCacheOptions {
  /** Extents that pods share. @default none */
  readonly shared?: SharedExtents | undefined;
  /** @default refreshes that report no outcome */
  readonly refreshes?: BackgroundRefreshes;
}

/** About 300 bytes each. */
const instantValuesMax = 20_000;

/** Creates an empty cache. */
export function createReadCache(
  bytesMax: number,
  { shared, refreshes = createBackgroundRefreshes() }: ReadCacheOptions = {},
): ReadCache {
  return {
    ranges: createRangeCache(bytesMax),
    instantValues: createInstantValues(),
    singleFlight: createSingleFlight(),
    shared,
    refreshes,
  };
}

function createInstantValues(): InstantValues {
  const values = new BoundedMap<string, InstantValue>(instantValuesMax);
  return {
    find(key, afterMs) {
      const instantValue = values.get(key);
      return instantValue !== undefined && instantValue.readAtMs > afterMs ? instantValue : undefined;
    },
    set: (key, instantValue) => values.set(key, instantValue),
  };
}
