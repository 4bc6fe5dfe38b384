import { BoundedMap } from "../../bounds/bounded-map.ts";
import { isShadowed, type CachedExtent } from "./extents.ts";

/** Extents of one query: as many as a window that slides makes before the first ones have aged. */
const extentsMax = 32;
/** What an entry takes besides its series. */
const entryBytes = 1_024;

/** What stores answered of late, bounded by bytes; the query unused for longest makes way. */
export interface RangeCache {
  /** Extents of a query in no order; empty when nothing is known. */
  extents<Series>(key: string): readonly CachedExtent<Series>[];
  /** Keeps an extent if it is no larger than everything. */
  keep<Series>(key: string, extent: CachedExtent<Series>, bytes: number): void;
  /** Bytes that are kept, as they were told. */
  bytes(): number;
}

interface KeptExtent {
  readonly extent: CachedExtent<unknown>;
  readonly bytes: number;
}

/** An empty cache. */
export function createRangeCache(bytesMax: number): RangeCache {
  const kept = new BoundedMap<string, readonly KeptExtent[]>(bytesMax, weight);
  return {
    extents<Series>(key: string) {
      // A key names its kind of series.
      return (kept.use(key) ?? []).map(({ extent }) => extent as CachedExtent<Series>);
    },
    keep(key, extent, bytes) {
      if (bytes + entryBytes > bytesMax) return;
      const others = (kept.get(key) ?? []).filter((other) => !isShadowed(other.extent, extent));
      kept.set(key, [...others, { extent, bytes }].slice(-extentsMax));
    },
    bytes: () => kept.weight,
  };
}

function weight(extents: readonly KeptExtent[]): number {
  return extents.reduce((sum, { bytes }) => sum + bytes, entryBytes);
}
