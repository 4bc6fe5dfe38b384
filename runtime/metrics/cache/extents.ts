import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { Query } from "../planning/query.ts";

/** Neighbouring points that one answer of a store held. */
export interface CachedExtent<Series> extends PointGrid {
  readonly series: readonly Series[];
  /** Unix milliseconds at which the store was asked. */
  readonly readAtMs: number;
  /** Points up to here no longer change in the store. */
  readonly settledUntilMs: number;
}

/** For how long what was read is served. */
export interface Lifetimes {
  /** Points that no longer change, in milliseconds. */
  readonly settledMs: number;
  /** Points that may still change, in milliseconds; at most as long. */
  readonly tailMs: number;
  /** Points that no longer change, from what all pods share, in milliseconds; undefined or zero: nothing is shared. */
  readonly sharedMs?: number | undefined;
  /**
   * How much longer than the first two what this pod knows is served while it is read again, in milliseconds. @default
   * 0
   */
  readonly staleMs?: number | undefined;
}

/** The lifetimes of the class that a query runs in. */
export function lifetimesOf({ quota: { limits } }: Query): Lifetimes {
  return {
    settledMs: limits.memorySeconds * 1_000,
    tailMs: limits.hotTailSeconds * 1_000,
    sharedMs: (limits.distributedSeconds ?? 0) * 1_000,
    staleMs: (limits.staleWhileRevalidateSeconds ?? 0) * 1_000,
  };
}

/** What memory serves at most, stale or not. Source: seed "Operational Metrics API" §8, "In-memory cache". */
const memoryMsMax = 60_000;

/** For how long what was read is served at all. */
export function staleLifetimes({ settledMs, tailMs, staleMs = 0 }: Lifetimes): Lifetimes {
  const longer = (ownMs: number): number => Math.max(ownMs, Math.min(memoryMsMax, ownMs + staleMs));
  return { settledMs: longer(settledMs), tailMs: longer(tailMs) };
}

/** When the oldest of some points were read, Unix milliseconds; infinite without any. */
export interface OldestReads {
  /** Of points that no longer changed then. */
  readonly settledMs: number;
  /** Of points that might still. */
  readonly tailMs: number;
}

/** Nothing was read. */
export const noReads: OldestReads = { settledMs: Number.POSITIVE_INFINITY, tailMs: Number.POSITIVE_INFINITY };

/** The older of both. */
export function olderReads(one: OldestReads, other: OldestReads): OldestReads {
  return { settledMs: Math.min(one.settledMs, other.settledMs), tailMs: Math.min(one.tailMs, other.tailMs) };
}

/** When the points of some runs of a grid were read. */
export function oldestReads<Series>(runs: readonly Run<Series>[], grid: PointGrid): OldestReads {
  return runs.map((run) => readsOf(run, grid)).reduce(olderReads, noReads);
}

function readsOf<Series>({ extent, offset, count }: Run<Series>, grid: PointGrid): OldestReads {
  const firstMs = grid.startMs + offset * grid.stepMs;
  const lastMs = firstMs + (count - 1) * grid.stepMs;
  return {
    settledMs: firstMs <= extent.settledUntilMs ? extent.readAtMs : noReads.settledMs,
    tailMs: lastMs > extent.settledUntilMs ? extent.readAtMs : noReads.tailMs,
  };
}

/** Points of a grid that come from one extent. */
export interface Run<Series> {
  readonly extent: CachedExtent<Series>;
  /** Place of the first one in the grid. */
  readonly offset: number;
  readonly count: number;
}

/** What extents know of a grid. */
interface Coverage<Series> {
  readonly runs: readonly Run<Series>[];
  /**
   * The one stretch that has to be read; undefined: nothing has to. What lies between two gaps is read again with them.
   */
  readonly gap: PointGrid | undefined;
}

/**
 * Takes each point of a grid from the newest extent that still may be served for it. All extents are of the same query
 * and step, so that their points are those of the grid.
 *
 * @param nowMs Unix milliseconds
 */
export function cover<Series>(
  extents: readonly CachedExtent<Series>[],
  grid: PointGrid,
  lifetimes: Lifetimes,
  nowMs: number,
): Coverage<Series> {
  if (extents.length === 0) return { runs: [], gap: { startMs: grid.startMs, stepMs: grid.stepMs, count: grid.count } };
  const newestFirst = extents.toSorted((one, other) => other.readAtMs - one.readAtMs);
  const ends = newestFirst.map((extent) => extent.startMs + servedCount(extent, lifetimes, nowMs) * extent.stepMs);
  const taken = Array.from({ length: grid.count }, (_, index) => {
    const timeMs = grid.startMs + index * grid.stepMs;
    return newestFirst.find((extent, place) => extent.startMs <= timeMs && timeMs < (ends[place] ?? 0));
  });
  const first = taken.indexOf(undefined);
  if (first === -1) return { runs: runsOf(taken), gap: undefined };
  const last = taken.lastIndexOf(undefined);
  const whole = taken.map((extent, index) => (index >= first && index <= last ? undefined : extent));
  const gap = { startMs: grid.startMs + first * grid.stepMs, stepMs: grid.stepMs, count: last - first + 1 };
  return { runs: runsOf(whole), gap };
}

/** Whether an extent has nothing left to give that a newer one would not. */
export function isShadowed<Series>(extent: CachedExtent<Series>, newer: PointGrid): boolean {
  return newer.startMs <= extent.startMs && endOf(extent) <= endOf(newer);
}

/** Extents read after a time, at most {@link sharedExtentsMax} of them, without those that newer ones cover. */
export function newestExtents<Series>(
  extents: readonly CachedExtent<Series>[],
  afterMs: number,
): readonly CachedExtent<Series>[] {
  const newestFirst = extents
    .filter(({ readAtMs }) => readAtMs > afterMs)
    .sort((one, other) => other.readAtMs - one.readAtMs);
  const shown: CachedExtent<Series>[] = [];
  for (const extent of newestFirst) {
    if (!shown.some((newer) => isShadowed(extent, newer))) shown.push(extent);
  }
  return shown.slice(0, sharedExtentsMax);
}

/** As many as a window that slides by 15 s makes in five minutes. */
const sharedExtentsMax = 24;

/** Points from the first one on that may be served: all of them, those that are settled, or none. */
function servedCount<Series>(extent: CachedExtent<Series>, { settledMs, tailMs }: Lifetimes, nowMs: number): number {
  const ageMs = nowMs - extent.readAtMs;
  if (ageMs < 0 || ageMs >= settledMs) return 0;
  if (ageMs < tailMs) return extent.count;
  const settled = Math.floor((extent.settledUntilMs - extent.startMs) / extent.stepMs) + 1;
  return Math.max(0, Math.min(extent.count, settled));
}

function runsOf<Series>(taken: readonly (CachedExtent<Series> | undefined)[]): readonly Run<Series>[] {
  const runs: Run<Series>[] = [];
  for (let offset = 0; offset < taken.length;) {
    const extent = taken[offset];
    const end = taken.findIndex((other, index) => index > offset && other !== extent);
    const count = (end === -1 ? taken.length : end) - offset;
    if (extent !== undefined) runs.push({ extent, offset, count });
    offset += count;
  }
  return runs;
}

function endOf({ startMs, stepMs, count }: PointGrid): number {
  return startMs + count * stepMs;
}
