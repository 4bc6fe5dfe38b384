/** The points that queries requested, by their source. */
export interface PointCounts {
  readonly hit: number;
  readonly miss: number;
  /** Of the hits, those within the shared lifetime only. @default 0 */
  readonly shared?: number;
  /** Set when missing points were looked up in the shared extents. @default false */
  readonly isSharing?: boolean;
}

/** The hit ratios of the last five minutes. Source: seed "Operational Metrics API" §2.5. */
export interface HitRatios {
  add(counts: PointCounts): void;
  /** Shares of points; 0 without any. */
  ratios(): CacheRatios;
}

interface CacheRatios {
  /** Hits of both caches among all requested points. */
  readonly all: number;
  /** Hits in the memory of this pod among all requested points. */
  readonly memory: number;
  /** Hits within the shared lifetime among the points that memory lacked. */
  readonly distributed: number;
}

/** Creates empty hit ratios. @param now a monotonic clock, milliseconds */
export function createHitRatios(now: () => number): HitRatios {
  const [all, memory, distributed] = [createHitLog(now), createHitLog(now), createHitLog(now)];
  return {
    add({ hit, miss, shared = 0, isSharing = false }) {
      all.add({ hit, miss });
      memory.add({ hit: hit - shared, miss: miss + shared });
      if (isSharing) distributed.add({ hit: shared, miss });
    },
    ratios: () => ({ all: all.ratio(), memory: memory.ratio(), distributed: distributed.ratio() }),
  };
}

interface HitLog {
  add(counts: PointCounts): void;
  /** Share of hits among all points; 0 without any. */
  ratio(): number;
}

/** The log adds counts up by time slices. */
const sliceMs = 10_000;
const slices = 30;

interface Slice {
  readonly index: number;
  hit: number;
  miss: number;
}

/** Creates an empty log of the last five minutes. @param now a monotonic clock, milliseconds */
function createHitLog(now: () => number): HitLog {
  let logged: readonly Slice[] = [];
  const current = (): Slice => {
    const index = Math.floor(now() / sliceMs);
    const last = logged.at(-1);
    if (last?.index === index) return last;
    const slice = { index, hit: 0, miss: 0 };
    logged = [...logged.filter((other) => other.index > index - slices), slice];
    return slice;
  };
  return {
    add({ hit, miss }) {
      const slice = current();
      slice.hit += hit;
      slice.miss += miss;
    },
    ratio() {
      const oldest = Math.floor(now() / sliceMs) - slices;
      const recent = logged.filter(({ index }) => index > oldest);
      const hits = recent.reduce((sum, { hit }) => sum + hit, 0);
      const all = recent.reduce((sum, { hit, miss }) => sum + hit + miss, 0);
      return all === 0 ? 0 : hits / all;
    },
  };
}
