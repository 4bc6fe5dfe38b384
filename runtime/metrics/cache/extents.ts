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
  const places = placesIn(extents, grid, lifetimes, nowMs);
  if (places.length === 0 && grid.count > 0) return { runs: [], gap: gapOf(grid, 0, grid.count - 1) };
  const taken = takeNewest(places, grid.count);
  const first = taken.indexOf(undefined);
  if (first === -1) return { runs: runsOf(taken), gap: undefined };
  const last = taken.lastIndexOf(undefined);
  taken.fill(undefined, first, last);
  return { runs: runsOf(taken), gap: gapOf(grid, first, last) };
}

function gapOf({ startMs, stepMs }: PointGrid, first: number, last: number): PointGrid {
  return { startMs: startMs + first * stepMs, stepMs, count: last - first + 1 };
}

/** The points of a grid that an extent supplies, within its lifetime. `end` is behind the last one. */
interface PlaceInGrid<Series> {
  readonly extent: CachedExtent<Series>;
  readonly begin: number;
  readonly end: number;
}

/** The extents that supply points of a grid. A query that is read by the day has hundreds that do not. */
function placesIn<Series>(
  extents: readonly CachedExtent<Series>[],
  { startMs, stepMs, count }: PointGrid,
  lifetimes: Lifetimes,
  nowMs: number,
): PlaceInGrid<Series>[] {
  const places: PlaceInGrid<Series>[] = [];
  for (const extent of extents) {
    const first = Math.round((extent.startMs - startMs) / stepMs);
    if (first >= count || first + extent.count <= 0) continue;
    const end = first + servedCount(extent, lifetimes, nowMs);
    if (end > Math.max(0, first)) places.push({ extent, begin: Math.max(0, first), end });
  }
  return places;
}

/** The newest extent of each point; of equally old ones the first. */
function takeNewest<Series>(places: readonly PlaceInGrid<Series>[], count: number) {
  const taken = Array.from<CachedExtent<Series> | undefined>({ length: count });
  const oldestFirst = places.toReversed().sort((one, other) => one.extent.readAtMs - other.extent.readAtMs);
  // The extent that comes last replaces the others.
  for (const { extent, begin, end } of oldestFirst) taken.fill(extent, begin, end);
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

/** The extents of one query, with the bytes of each. */
interface CachedQuery {
  readonly extents: readonly CachedExtent<unknown>[];
  readonly bytes: readonly number[];
}

/** Creates an empty cache. */
export function createRangeCache(bytesMax: number): RangeCache {
  const weigh = ({ bytes }: CachedQuery): number => bytes.reduce((sum, own) => sum + own, entryBytes);
  const queries = new BoundedMap<string, CachedQuery>(bytesMax, weigh, { unusedMs: ageMsMax });
  return {
    extents<Series>(key: string) {
      // The key holds the kind of series.
      return (queries.use(key)?.extents ?? []) as readonly CachedExtent<Series>[];
    },
    add(key, extent, bytes) {
      if (bytes + entryBytes > bytesMax) return;
      queries.set(key, withExtent(queries.get(key), extent, bytes));
    },
    bytes: () => queries.weight,
  };
}

/** Adds the extent behind those that readers may still accept, and that it does not shadow. */
function withExtent(before: CachedQuery | undefined, extent: CachedExtent<unknown>, bytes: number): CachedQuery {
  const [kept, keptBytes]: [CachedExtent<unknown>[], number[]] = [[], []];
  for (const [place, other] of (before?.extents ?? []).entries()) {
    if (extent.readAtMs - other.readAtMs >= ageMsMax || isShadowed(other, extent)) continue;
    kept.push(other);
    keptBytes.push(before?.bytes[place] ?? 0);
  }
  kept.push(extent);
  keptBytes.push(bytes);
  if (kept.length <= extentsMax) return { extents: kept, bytes: keptBytes };
  return { extents: kept.slice(-extentsMax), bytes: keptBytes.slice(-extentsMax) };
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
