import { BoundedMap } from "../../../limits/bounded-map.ts";
import { isShadowed, type CachedExtent } from "./extents.ts";

/** Most extents of one query. A sliding window makes about this many before the first ones expire. */
const extentsMax = 32;
/** Bytes of an entry besides its series. */
const entryBytes = 1_024;

/** Recent extents, bounded by bytes; the least recently used query is removed first. */
export interface RangeCache {
  /** The extents of a query, in no order. */
  extents<Series>(key: string): readonly CachedExtent<Series>[];
  /** Adds an extent, unless it alone exceeds the bound. */
  add<Series>(key: string, extent: CachedExtent<Series>, bytes: number): void;
  /** Bytes of all extents, as given to `add`. */
  bytes(): number;
}

interface Entry {
  readonly extent: CachedExtent<unknown>;
  readonly bytes: number;
}

/** Creates an empty cache. */
export function createRangeCache(bytesMax: number): RangeCache {
  const entries = new BoundedMap<string, readonly Entry[]>(bytesMax, weight);
  return {
    extents<Series>(key: string) {
      // The key holds the kind of series.
      return (entries.use(key) ?? []).map(({ extent }) => extent as CachedExtent<Series>);
    },
    add(key, extent, bytes) {
      if (bytes + entryBytes > bytesMax) return;
      const others = (entries.get(key) ?? []).filter((other) => !isShadowed(other.extent, extent));
      entries.set(key, [...others, { extent, bytes }].slice(-extentsMax));
    },
    bytes: () => entries.weight,
  };
}

function weight(extents: readonly Entry[]): number {
  return extents.reduce((sum, { bytes }) => sum + bytes, entryBytes);
}
