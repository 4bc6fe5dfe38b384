import { createByteBudget } from "../../stores/limits/byte-budget.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { cover, newestExtents, type CachedExtent, type Lifetimes, type Run } from "./extents.ts";
import { readKey, from, moved, type Found, type RangeRead, type Source, type Wanted } from "./range-read.ts";
import type { ReadCache } from "./read-cache.ts";
import type { SeriesKind } from "./series-kind.ts";
import type { Done, SharedExtents } from "./shared-extents.ts";

interface GapRead<Series> extends Found<Series> {
  /** Bytes that the store sent. */
  readonly bytes: number;
}

/**
 * Reads missing points once for all concurrent callers. When another caller's read found cached points that are too old
 * for this caller, it reads again together with callers of equal lifetimes.
 */
export async function readGap<Series>(
  source: Source<Series>,
  wanted: Wanted,
  key: string,
  reading: RangeRead,
): Promise<Found<Series>> {
  const { grid, call } = wanted;
  const { cache } = reading;
  const limits = sharedLifetimes(reading);
  const shared = wanted.mayShare && (reading.lifetimes.sharedMs ?? 0) > 0 ? cache.shared : undefined;
  const name = readKey(key, grid);
  const readOnce = (callName: string): Promise<GapRead<Series>> =>
    cache.singleFlight(
      callName,
      (signal) => {
        const own = { ...wanted, call: { ...call, signal, bytes: createByteBudget() } };
        return shared === undefined
          ? readStore(source, own, key, reading)
          : readShared(source, own, { key, name, shared }, reading);
      },
      call.signal,
    );
  const joined = await readOnce(name);
  const read = isAccepted(joined, grid, limits, reading.nowMs)
    ? joined
    : await readOnce(JSON.stringify([name, limits]));
  call.bytes.take(read.bytes);
  return read;
}

/** The greatest age of other pods' points for one reader. */
function sharedLifetimes({ lifetimes: { settledMs, tailMs, sharedMs = 0 }, isRefresh }: RangeRead): Lifetimes {
  return { settledMs: isRefresh ? settledMs : Math.max(settledMs, sharedMs), tailMs };
}

/** Tests if each point was read from the store by this call, or is young enough for these lifetimes. */
function isAccepted<Series>(
  { runs }: Found<Series>,
  { startMs, stepMs }: PointGrid,
  limits: Lifetimes,
  nowMs: number,
): boolean {
  return runs.every(({ source, extent, offset, count }) => {
    const grid = { startMs: startMs + offset * stepMs, stepMs, count };
    return source === "store" || cover([extent], grid, limits, Math.max(nowMs, extent.readAtMs)).gap === undefined;
  });
}

interface Sharing {
  readonly key: string;
  readonly name: string;
  readonly shared: SharedExtents;
}

/** Looks up the shared extents. One pod reads the points that are still missing and shares all its extents. */
function readShared<Series>(
  source: Source<Series>,
  wanted: Wanted,
  { key, name, shared }: Sharing,
  reading: RangeRead,
): Promise<GapRead<Series>> {
  const { kind } = source;
  const { cache, lifetimes, nowMs } = reading;
  const { settledMs, sharedMs = 0 } = lifetimes;
  return shared.once(name, async (): Promise<Done<GapRead<Series>, Series>> => {
    const young = cache.ranges.extents<Series>(key).filter(({ readAtMs }) => nowMs - readAtMs < settledMs);
    const found = await shared.find(kind, key);
    const { runs, gap } = cover([...young, ...found], wanted.grid, sharedLifetimes(reading), nowMs);
    if (reading.isRefresh) addFound(source, runs, young, cache, key);
    const known = runs.flatMap((run) => from(young.includes(run.extent) ? "memory" : "shared", [run]));
    if (gap === undefined) return { result: { runs: known, bytes: 0, warning: "none" }, share: undefined };
    const read = await readStore(source, { ...wanted, grid: { ...gap, rangeMs: wanted.grid.rangeMs } }, key, reading);
    const all = [...known, ...moved(read.runs, gap, wanted.grid)];
    const extents = newestExtents([...found, ...cache.ranges.extents<Series>(key)], nowMs - sharedMs);
    return { result: { ...read, runs: all }, share: read.warning === "none" ? { kind, key, extents } : undefined };
  });
}

/** Adds shared extents to memory, so that the next caller finds them there. */
function addFound<Series>(
  { kind }: Source<Series>,
  runs: readonly Run<Series>[],
  young: readonly CachedExtent<Series>[],
  cache: ReadCache,
  key: string,
): void {
  const extents = new Set(runs.map(({ extent }) => extent).filter((extent) => !young.includes(extent)));
  for (const extent of extents) cache.ranges.add(key, extent, bytesOf(kind, extent.series));
}

function bytesOf<Series>(kind: SeriesKind<Series>, series: readonly Series[]): number {
  return series.reduce((sum, one) => sum + kind.bytes(one), 0);
}

/** Reads from the store and caches the result, unless the store warns that it may be incomplete. */
async function readStore<Series>(
  source: Source<Series>,
  { query, grid, call, settledUntilMs }: Wanted,
  key: string,
  { cache, nowMs }: RangeRead,
): Promise<GapRead<Series>> {
  const { series, warning } = await source.read(query, grid, call);
  const { startMs, stepMs, count } = grid;
  const extent: CachedExtent<Series> = { startMs, stepMs, count, series, readAtMs: nowMs, settledUntilMs };
  if (warning === "none") cache.ranges.add(key, extent, bytesOf(source.kind, series));
  return { runs: from("store", [{ extent, offset: 0, count }]), bytes: call.bytes.taken(), warning };
}
