import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { Query } from "../planning/query.ts";

/** Contiguous cached points from one store response. */
export interface CachedExtent<Series> extends PointGrid {
  readonly series: readonly Series[];
  /** Unix milliseconds of the read. */
  readonly readAtMs: number;
  /** Points up to this time, in Unix milliseconds, no longer change in the store. */
  readonly settledUntilMs: number;
}

/** Lifetimes of cached points, in milliseconds. */
export interface Lifetimes {
  /** Of points that no longer change. */
  readonly settledMs: number;
  /** Of points that may still change; at most `settledMs`. */
  readonly tailMs: number;
  /** Of shared points that no longer change. @default 0, which turns sharing off */
  readonly sharedMs?: number | undefined;
  /** Time after the first two lifetimes in which stale points are served and refreshed. @default 0 */
  readonly staleMs?: number | undefined;
}

/** The lifetimes that the class of a query has. */
export function lifetimesOf({ quota: { limits } }: Query): Lifetimes {
  return {
    settledMs: limits.memorySeconds * 1_000,
    tailMs: limits.hotTailSeconds * 1_000,
    sharedMs: (limits.distributedSeconds ?? 0) * 1_000,
    staleMs: (limits.staleWhileRevalidateSeconds ?? 0) * 1_000,
  };
}

/** Greatest age of points from memory, stale or not. Source: seed "Operational Metrics API" §8, "In-memory cache". */
const memoryMsMax = 60_000;

/** The lifetimes with the time of stale points included. */
export function staleLifetimes({ settledMs, tailMs, staleMs = 0 }: Lifetimes): Lifetimes {
  const longer = (ownMs: number): number => Math.max(ownMs, Math.min(memoryMsMax, ownMs + staleMs));
  return { settledMs: longer(settledMs), tailMs: longer(tailMs) };
}

/** Times of the oldest reads, in Unix milliseconds; infinite without any. */
export interface OldestReads {
  /** Of points that no longer changed at that time. */
  readonly settledMs: number;
  /** Of points that could still change. */
  readonly tailMs: number;
}

/** The times without any read. */
export const noReads: OldestReads = { settledMs: Number.POSITIVE_INFINITY, tailMs: Number.POSITIVE_INFINITY };

/** The older time of both, for each kind of points. */
export function olderReads(one: OldestReads, other: OldestReads): OldestReads {
  return { settledMs: Math.min(one.settledMs, other.settledMs), tailMs: Math.min(one.tailMs, other.tailMs) };
}

/** The oldest reads of the points of some runs. */
export function oldestReads<Series>(runs: readonly ExtentRun<Series>[], grid: PointGrid): OldestReads {
  return runs.map((run) => readsOf(run, grid)).reduce(olderReads, noReads);
}

function readsOf<Series>({ extent, offset, count }: ExtentRun<Series>, grid: PointGrid): OldestReads {
  const firstMs = grid.startMs + offset * grid.stepMs;
  const lastMs = firstMs + (count - 1) * grid.stepMs;
  return {
    settledMs: firstMs <= extent.settledUntilMs ? extent.readAtMs : noReads.settledMs,
    tailMs: lastMs > extent.settledUntilMs ? extent.readAtMs : noReads.tailMs,
  };
}

/** Points of a grid that one extent supplies. */
export interface ExtentRun<Series> {
  readonly extent: CachedExtent<Series>;
  /** Index of the first point in the grid. */
  readonly offset: number;
  readonly count: number;
}

/** The part of a grid that extents cover. */
interface Coverage<Series> {
  readonly runs: readonly ExtentRun<Series>[];
  /** The points to read, undefined without any. Points between two gaps are read again, so that one read suffices. */
  readonly gap: PointGrid | undefined;
}

/**
 * Takes each point of a grid from the newest extent within its lifetime. All extents are of the same query, step and
 * phase, so that their points lie on the grid.
 *
 * @param nowMs Unix milliseconds
 */
export function cover<Series>(
  extents: readonly CachedExtent<Series>[],
  grid: PointGrid,
  lifetimes: Lifetimes,
  nowMs: number,
): Coverage<Series> {
  const taken = takeNewest(extents, grid, lifetimes, nowMs);
  const first = taken.indexOf(undefined);
  if (first === -1) return { runs: runsOf(taken), gap: undefined };
  const last = taken.lastIndexOf(undefined);
  taken.fill(undefined, first, last);
  const gap = { startMs: grid.startMs + first * grid.stepMs, stepMs: grid.stepMs, count: last - first + 1 };
  return { runs: runsOf(taken), gap };
}

/** The newest extent of each point within its lifetime; of equally old ones the first. */
function takeNewest<Series>(
  extents: readonly CachedExtent<Series>[],
  grid: PointGrid,
  lifetimes: Lifetimes,
  nowMs: number,
): (CachedExtent<Series> | undefined)[] {
  const taken = Array.from<CachedExtent<Series> | undefined>({ length: grid.count });
  // The extent that comes last replaces the others.
  for (const extent of extents.toReversed().sort((one, other) => one.readAtMs - other.readAtMs)) {
    const first = Math.round((extent.startMs - grid.startMs) / grid.stepMs);
    const end = first + servedCount(extent, lifetimes, nowMs);
    if (end > Math.max(0, first)) taken.fill(extent, Math.max(0, first), end);
  }
  return taken;
}

/** Tests if a newer extent covers all points of an extent. */
function isShadowed<Series>(extent: CachedExtent<Series>, newer: PointGrid): boolean {
  return newer.startMs <= extent.startMs && endOf(extent) <= endOf(newer);
}

/** Counts the points, from the first one on, within their lifetimes: all, the settled ones, or none. */
function servedCount<Series>(extent: CachedExtent<Series>, { settledMs, tailMs }: Lifetimes, nowMs: number): number {
  const ageMs = nowMs - extent.readAtMs;
  if (ageMs < 0 || ageMs >= settledMs) return 0;
  if (ageMs < tailMs) return extent.count;
  const settled = Math.floor((extent.settledUntilMs - extent.startMs) / extent.stepMs) + 1;
  return Math.max(0, Math.min(extent.count, settled));
}

function runsOf<Series>(taken: readonly (CachedExtent<Series> | undefined)[]): readonly ExtentRun<Series>[] {
  const runs: ExtentRun<Series>[] = [];
  for (let offset = 0; offset < taken.length;) {
    const extent = taken[offset];
    let end = offset + 1;
    while (end < taken.length && taken[end] === extent) end += 1;
    if (extent !== undefined) runs.push({ extent, offset, count: end - offset });
    offset = end;
  }
  return runs;
}

function endOf({ startMs, stepMs, count }: PointGrid): number {
  return startMs + count * stepMs;
}

/** Age at which no reader accepts points. Source: seed "Operational Metrics API" §8, "Distributed cache". */
export const ageMsMax = 300_000;
/**
 * Most extents of one query: the days of a window that is read by the day, such as the history of a quarter, and the
 * ends that a sliding window adds before the first ones expire.
 */
const extentsMax = 256;
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

interface CachedEntry {
  readonly extent: CachedExtent<unknown>;
  readonly bytes: number;
}

/** Creates an empty cache. */
export function createRangeCache(bytesMax: number): RangeCache {
  const entries = new BoundedMap<string, readonly CachedEntry[]>(bytesMax, weight, { unusedMs: ageMsMax });
  return {
    extents<Series>(key: string) {
      // The key holds the kind of series.
      return (entries.use(key) ?? []).map(({ extent }) => extent as CachedExtent<Series>);
    },
    add(key, extent, bytes) {
      if (bytes + entryBytes > bytesMax) return;
      const others = (entries.get(key) ?? []).filter(
        (other) => extent.readAtMs - other.extent.readAtMs < ageMsMax && !isShadowed(other.extent, extent),
      );
      entries.set(key, [...others, { extent, bytes }].slice(-extentsMax));
    },
    bytes: () => entries.weight,
  };
}

function weight(extents: readonly CachedEntry[]): number {
  return extents.reduce((sum, { bytes }) => sum + bytes, entryBytes);
}

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
