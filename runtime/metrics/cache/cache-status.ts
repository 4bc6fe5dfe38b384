import type { PointGrid } from "../../stores/prometheus/matrix.ts";

/**
 * The sources of points, the nearest first: `memory` of this pod; `finer`, rolled up from narrower points in memory;
 * `shared`, within the shared lifetime only: read by another pod, or by this pod some time ago; `stale`, from memory
 * after its lifetime; `store`.
 */
export const pointSources = ["memory", "finer", "shared", "stale", "store"] as const;
export type PointSource = (typeof pointSources)[number];

/** Adjacent points of one range query of one store that have the same source. */
export interface SourcedRange extends PointGrid {
  readonly source: PointSource;
  /** Key of the store. */
  readonly store: string;
}

/** Adjacent points of a response that have the same source. */
interface ExtentStatus {
  /** Index of the first point in the grid. */
  readonly offset: number;
  readonly count: number;
  readonly source: PointSource;
}

/**
 * The cache status of each extent of a response. A point of several range queries has the farthest of their sources.
 * Adjacent points with equal sources form one extent.
 */
export function extentStatuses(sourcedRanges: readonly SourcedRange[], grid: PointGrid): readonly ExtentStatus[] {
  // The index in the list plus one; 0 stands for a point without a source.
  const farthest = new Uint8Array(grid.count);
  for (const { startMs, count, source } of sourcedRanges) {
    const rank = pointSources.indexOf(source) + 1;
    const first = Math.round((startMs - grid.startMs) / grid.stepMs);
    for (let index = Math.max(0, first); index < Math.min(grid.count, first + count); index += 1) {
      farthest[index] = Math.max(farthest[index] ?? 0, rank);
    }
  }
  return foldEqual(farthest);
}

function foldEqual(ranks: Uint8Array): readonly ExtentStatus[] {
  const extents: ExtentStatus[] = [];
  for (let offset = 0; offset < ranks.length;) {
    let end = offset + 1;
    while (end < ranks.length && ranks[end] === ranks[offset]) end += 1;
    const source = pointSources[(ranks[offset] ?? 0) - 1];
    if (source !== undefined) extents.push({ offset, count: end - offset, source });
    offset = end;
  }
  return extents;
}

/** Most extents that a header lists; it lists the ones before as one `mixed` extent. */
export const listedExtentsMax = 12;

/**
 * `memory*719 store*1`: the points in their order. Of more than {@link listedExtentsMax} extents it lists the newest,
 * which differ most.
 */
export function formatExtents(extents: readonly ExtentStatus[]): string {
  const listed = extents.length <= listedExtentsMax ? extents : extents.slice(1 - listedExtentsMax);
  const others = extents.slice(0, extents.length - listed.length).reduce((sum, { count }) => sum + count, 0);
  const words = listed.map(({ source, count }) => `${source}*${count}`);
  return [...(others === 0 ? [] : [`mixed*${others}`]), ...words].join(" ");
}

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
