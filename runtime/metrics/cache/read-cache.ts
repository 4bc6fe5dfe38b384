import type { StoreConfig } from "../../../crds/config.ts";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import { createFlights, type Flights } from "./flights.ts";
import { createRangeCache, type RangeCache } from "./range-cache.ts";

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
  /** Names a store as it is configured now: one that is configured anew has another name, and nothing of the old one. */
  identityOf(config: StoreConfig): number;
}

/** About 300 bytes each. */
const momentsMax = 20_000;

/** An empty cache. */
export function createReadCache(bytesMax: number): ReadCache {
  const identities = new WeakMap<StoreConfig, number>();
  let named = 0;
  return {
    ranges: createRangeCache(bytesMax),
    moments: createMoments(),
    flights: createFlights(),
    identityOf(config) {
      const known = identities.get(config);
      if (known !== undefined) return known;
      named += 1;
      identities.set(config, named);
      return named;
    },
  };
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
