import { BoundedMap } from "../../bounds/bounded-map.ts";
import { createFlights, type Flights } from "./single-flight.ts";
import { createRangeCache, type RangeCache } from "./range-cache.ts";
import { createRenewals, type Renewals } from "./background-refresh.ts";
import type { SharedPieces } from "./shared-extents.ts";

/** One number that a store answered. */
export interface Moment {
  readonly value: number | undefined;
  /** Unix milliseconds at which the store was asked. */
  readonly readAtMs: number;
}

/** Numbers of the last seconds; the oldest make way. */
export interface Moments {
  /** What was read after a time, if anything was. */
  find(key: string, afterMs: number): Moment | undefined;
  keep(key: string, moment: Moment): void;
}

/** What all queries of a pod share of what they read. */
export interface ReadCache {
  readonly ranges: RangeCache;
  readonly moments: Moments;
  readonly flights: Flights;
  /** What other pods know; undefined: there is nothing to share with them. */
  readonly shared: SharedPieces | undefined;
  readonly renewals: Renewals;
}

export interface ReadCacheOptions {
  /** What other pods know. @default nothing */
  readonly shared?: SharedPieces | undefined;
  /** @default nobody is told how they end */
  readonly renewals?: Renewals;
}

/** About 300 bytes each. */
const momentsMax = 20_000;

/** An empty cache. */
export function createReadCache(
  bytesMax: number,
  { shared, renewals = createRenewals() }: ReadCacheOptions = {},
): ReadCache {
  return { ranges: createRangeCache(bytesMax), moments: createMoments(), flights: createFlights(), shared, renewals };
}

function createMoments(): Moments {
  const kept = new BoundedMap<string, Moment>(momentsMax);
  return {
    find(key, afterMs) {
      const moment = kept.get(key);
      return moment !== undefined && moment.readAtMs > afterMs ? moment : undefined;
    },
    keep: (key, moment) => kept.set(key, moment),
  };
}
