import { BoundedMap, createSingleFlight, type SingleFlight } from "../../../limits/bounded-map.ts";
import type { Pods } from "../../pods/pods.ts";
import { createRangeCache, type RangeCache } from "./extents.ts";
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

/** Reads stale points again in the background, after they were served. Source: RFC 5861. */
interface BackgroundRefreshes {
  /**
   * Starts a refresh, unless one of this name or {@link refreshesMax} of this store are in progress.
   *
   * @returns true when this call started it
   */
  begin(name: string, store: string, work: (signal: AbortSignal) => Promise<unknown>): boolean;
  /** Aborts the refreshes in progress; none starts afterwards. */
  stop(): void;
}

interface RefreshOptions {
  /** Bound on each refresh, in milliseconds. @default 1800 */
  readonly deadlineMs?: number;
  /** Called when a refresh ends before the stop; undefined for a success. @default ignored */
  readonly ended?: (failure: unknown) => void;
}

/** Most concurrent refreshes of one store. Few, since waiting requests need the same connections. */
export const refreshesMax = 8;
const deadlineMsDefault = 1_800;

/** Creates refreshes without one in progress. */
export function createBackgroundRefreshes({
  deadlineMs = deadlineMsDefault,
  ended = () => undefined,
}: RefreshOptions = {}): BackgroundRefreshes {
  /** The store of each refresh. */
  const underWay = new Map<string, string>();
  const countOf = (store: string): number => [...underWay.values()].filter((one) => one === store).length;
  const stopping = new AbortController();
  return {
    begin(name, store, work) {
      if (stopping.signal.aborted || underWay.has(name) || countOf(store) >= refreshesMax) return false;
      underWay.set(name, store);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new Error(`not refreshed in ${deadlineMs} ms`)), deadlineMs);
      timer.unref();
      const end = (failure: unknown): void => {
        clearTimeout(timer);
        underWay.delete(name);
        if (!stopping.signal.aborted) ended(failure);
      };
      work(AbortSignal.any([late.signal, stopping.signal])).then(() => end(undefined), end);
      return true;
    },
    stop: () => stopping.abort(new Error("the program stops")),
  };
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
