import { BoundedMap } from "../../../limits/bounded-map.ts";
import { createSingleFlight, type SingleFlight } from "../../../limits/single-flight.ts";
import type { Pods } from "../../pods/pods.ts";
import { createRangeCache, type RangeCache } from "./range-cache.ts";
import { createBackgroundRefreshes, type BackgroundRefreshes } from "./background-refresh.ts";
import { createSharedExtents, type SharedExtents } from "./shared-extents.ts";

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
  /** Undefined when extents are not shared. */
  readonly shared: SharedExtents | undefined;
  readonly refreshes: BackgroundRefreshes;
}

interface ReadCacheOptions {
  /** Pods that share extents. @default extents are not shared, and have no shared lifetime */
  readonly pods?: Pods | undefined;
  /** Residency of the pods' messages: stores of other residencies share nothing. @default any store may share */
  readonly residency?: string | undefined;
  /** Called when the points of another pod cannot be had. @default ignored */
  readonly failed?: (error: unknown) => void;
  /** @default refreshes that report no outcome */
  readonly refreshes?: BackgroundRefreshes;
}

/** About 300 bytes each. */
const instantValuesMax = 20_000;

/** Creates an empty cache. */
export function createReadCache(
  bytesMax: number,
  { pods, refreshes = createBackgroundRefreshes(), ...options }: ReadCacheOptions = {},
): ReadCache {
  const ranges = createRangeCache(bytesMax);
  return {
    ranges,
    instantValues: createInstantValues(),
    singleFlight: createSingleFlight(),
    shared: pods && createSharedExtents(ranges, pods, options),
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
