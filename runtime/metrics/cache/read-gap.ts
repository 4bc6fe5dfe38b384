import { createByteBudget } from "../../stores/limits/fan-out.ts";
import { alignmentOf } from "../../stores/prometheus/flavours.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { cover, type CachedExtent, type Lifetimes } from "./extents.ts";
import { readKey, from, moved, type Found, type RangeRead, type Source, type Wanted } from "./range-read.ts";
import type { SeriesKind } from "./series-kind.ts";
import type { SharedExtents } from "./shared-extents.ts";

interface GapRead<Series> extends Found<Series> {
  /** Bytes that the store sent. */
  readonly bytes: number;
}

/**
 * Reads missing points: those of this pod whose shared lifetime lasts, then those of other pods, then the store's.
 * Concurrent callers share one read. When it found points that are too old for a caller, that caller reads again
 * together with callers of equal lifetimes.
 */
export async function readGap<Series>(
  source: Source<Series>,
  wanted: Wanted,
  key: string,
  reading: RangeRead,
): Promise<Found<Series>> {
  const { grid } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const shared = wanted.mayShare && (lifetimes.sharedMs ?? 0) > 0 ? cache.shared : undefined;
  if (shared === undefined) return readTogether(wanted, key, reading, (own) => readStore(source, own, key, reading));
  const limits = sharedLifetimes(reading);
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, limits, nowMs);
  const known = runs.flatMap((run) =>
    from(nowMs - run.extent.readAtMs < lifetimes.settledMs ? "memory" : "shared", [run]),
  );
  if (gap === undefined) return { runs: known, warning: "none" };
  const missing = { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } };
  const read = await readTogether(missing, key, reading, (own) =>
    readShared(source, own, { key, limits, shared }, reading),
  );
  return { ...read, runs: [...known, ...moved(read.runs, gap, grid)] };
}

/** Reads once for all concurrent callers that accept the age of the points. */
async function readTogether<Series>(
  wanted: Wanted,
  key: string,
  reading: RangeRead,
  read: (wanted: Wanted) => Promise<GapRead<Series>>,
): Promise<Found<Series>> {
  const { grid, call } = wanted;
  const { cache, nowMs } = reading;
  const limits = sharedLifetimes(reading);
  const name = readKey(key, grid);
  const readOnce = (callName: string): Promise<GapRead<Series>> =>
    cache.singleFlight(
      callName,
      (signal) => read({ ...wanted, call: { ...call, signal, bytes: createByteBudget() } }),
      call.signal,
    );
  const joined = await readOnce(name);
  const accepted = isAccepted(joined, grid, limits, nowMs) ? joined : await readOnce(JSON.stringify([name, limits]));
  call.bytes.take(accepted.bytes);
  return accepted;
}

/** The greatest age of shared points for one reader. */
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
  readonly limits: Lifetimes;
  readonly shared: SharedExtents;
}

/** Takes points from another pod, which are in memory from then on, and reads the others from the store. */
function readShared<Series>(
  source: Source<Series>,
  wanted: Wanted,
  { key, limits, shared }: Sharing,
  reading: RangeRead,
): Promise<GapRead<Series>> {
  const { kind } = source;
  const { grid } = wanted;
  const { cache, nowMs } = reading;
  return shared.once(readKey(key, grid), { kind, key, grid, limits, nowMs }, async (found) => {
    for (const extent of found) cache.ranges.add(key, extent, bytesOf(kind, extent.series));
    const { runs, gap } = cover(found, grid, limits, nowMs);
    const known = from("shared", runs);
    if (gap === undefined) return { runs: known, bytes: 0, warning: "none" as const, isHolder: false };
    const read = await readStore(source, { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } }, key, reading);
    return { ...read, runs: [...known, ...moved(read.runs, gap, grid)], isHolder: read.warning === "none" };
  });
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
  const { series, warning } = await source.read(query, { ...grid, alignedMs: alignmentOf(grid) }, call);
  const { startMs, stepMs, count } = grid;
  const extent: CachedExtent<Series> = { startMs, stepMs, count, series, readAtMs: nowMs, settledUntilMs };
  if (warning === "none") cache.ranges.add(key, extent, bytesOf(source.kind, series));
  return { runs: from("store", [{ extent, offset: 0, count }]), bytes: call.bytes.taken(), warning };
}
