import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { alignmentOf, joinedLater, type Piece, type RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import {
  type CachedExtent,
  cover,
  type ExtentRun,
  type Lifetimes,
  noReads,
  olderReads,
  type OldestReads,
  oldestReads,
  staleLifetimes,
} from "./extents.ts";
import {
  type CoveredRange,
  extentKey,
  type RangeQuery,
  type RangeRead,
  readKey,
  type SeriesReader,
  shiftRuns,
  type SourcedRun,
  withSource,
} from "./range-read.ts";
import { cutterOf, type SeriesKind, type SplitResponse } from "./series-kind.ts";
import type { SharedExtents } from "./shared-extents.ts";

/**
 * Reads a range query through the cache: from memory, rolled up from narrower points, stale points, and the store for
 * the rest.
 *
 * @throws what a read of the store throws
 */
export async function readThrough<Series>(
  source: SeriesReader<Series>,
  wanted: RangeQuery,
  reading: RangeRead,
): Promise<RangeResult<Series>> {
  const { query, grid, call } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = extentKey(source, query, grid, call);
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, lifetimes, nowMs);
  const cached = withSource("memory", runs);
  if (gap === undefined) return finish(source, { runs: cached, warning: "none" }, grid, reading);
  const missing = { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } };
  const found =
    rollUpFiner(source, { ...wanted, grid: { ...grid, ...gap } }, reading) ??
    findStale(source, missing, key, reading) ??
    (await readGap(source, missing, key, reading));
  return finish(source, { ...found, runs: [...cached, ...shiftRuns(found.runs, gap, grid)] }, grid, reading);
}

/**
 * The missing points, if all of them have only just expired: they are served at once and refreshed in the background. A
 * window with new points waits for the store, which then returns the expired points too.
 */
function findStale<Series>(
  source: SeriesReader<Series>,
  wanted: RangeQuery,
  key: string,
  reading: RangeRead,
): CoveredRange<Series> | undefined {
  const { cache, lifetimes, nowMs } = reading;
  const { grid } = wanted;
  if ((lifetimes.staleMs ?? 0) === 0) return undefined;
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, staleLifetimes(lifetimes), nowMs);
  if (gap !== undefined) return undefined;
  const hasBegun = cache.refreshes.begin(readKey(key, grid), source.identity, (signal) => {
    const call = { ...wanted.call, signal, bytes: createByteBudget() };
    return readGap({ ...source, read: source.readLater }, { ...wanted, call }, key, { ...reading, isRefresh: true });
  });
  return { runs: withSource("stale", runs), warning: "none", renewed: hasBegun ? grid.count : 0 };
}

/** The missing points, rolled up from cached narrower points. */
function rollUpFiner<Series>(
  source: SeriesReader<Series>,
  { grid, call }: RangeQuery,
  { cache, lifetimes, nowMs }: RangeRead,
): CoveredRange<Series> | undefined {
  const { startMs, stepMs, count, narrower } = grid;
  if (narrower === undefined) return undefined;
  const extents = (query: string, widthMs: number): readonly CachedExtent<Series>[] =>
    cache.ranges.extents(extentKey(source, query, { startMs, stepMs: widthMs, rangeMs: widthMs }, call));
  const made = source.rollUp?.({ grid: { startMs, stepMs, count }, narrower, extents, lifetimes, nowMs });
  if (made === undefined) return undefined;
  return { runs: [{ extent: made.extent, offset: 0, count, source: "finer", reads: made.reads }], warning: "none" };
}

/** One result of runs that cover a grid. */
function finish<Series>(
  { kind }: SeriesReader<Series>,
  { runs, warning, renewed = 0 }: CoveredRange<Series>,
  grid: PointGrid,
  reading: RangeRead,
): RangeResult<Series> {
  const { startMs, stepMs } = grid;
  reading.note(
    runs.map(({ offset, count, source }) => ({ startMs: startMs + offset * stepMs, stepMs, count, source })),
    readsOf(runs, grid),
    renewed,
  );
  const pieces = runs.map((run) => pieceOf(kind, run, grid));
  return joinedLater({ pieces, warning }, () =>
    kind.join(
      pieces.map((piece) => wholeOf(piece, grid)),
      grid,
    ),
  );
}

function readsOf<Series>(runs: readonly SourcedRun<Series>[], grid: PointGrid): OldestReads {
  return runs.map((run) => run.reads ?? oldestReads([run], grid)).reduce(olderReads, noReads);
}

function pieceOf<Series>(kind: SeriesKind<Series>, run: ExtentRun<Series>, grid: PointGrid): Piece<Series> {
  const { extent, offset, count } = run;
  return { offset, count, read: extent, readAtMs: extent.readAtMs, cut: cutterOf(kind, run, grid) };
}

function wholeOf<Series>({ offset, count, cut }: Piece<Series>, { startMs, stepMs }: PointGrid): SplitResponse<Series> {
  return { split: { offset, grid: { startMs: startMs + offset * stepMs, stepMs, count } }, series: cut(0, count) };
}

interface GapRead<Series> extends CoveredRange<Series> {
  /** Bytes that the store sent. */
  readonly bytes: number;
}

/**
 * Reads missing points: those of this pod whose shared lifetime lasts, then those of other pods, then the store's.
 * Concurrent callers share one read. When it found points that are too old for a caller, that caller reads again
 * together with callers of equal lifetimes.
 */
async function readGap<Series>(
  source: SeriesReader<Series>,
  wanted: RangeQuery,
  key: string,
  reading: RangeRead,
): Promise<CoveredRange<Series>> {
  const { grid } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const shared = wanted.mayShare && (lifetimes.sharedMs ?? 0) > 0 ? cache.shared : undefined;
  if (shared === undefined) return readTogether(wanted, key, reading, (own) => readStore(source, own, key, reading));
  const limits = sharedLifetimes(reading);
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, limits, nowMs);
  const known = runs.flatMap((run) =>
    withSource(nowMs - run.extent.readAtMs < lifetimes.settledMs ? "memory" : "shared", [run]),
  );
  if (gap === undefined) return { runs: known, warning: "none" };
  const missing = { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } };
  const read = await readTogether(missing, key, reading, (own) =>
    readShared(source, own, { key, limits, shared }, reading),
  );
  return { ...read, runs: [...known, ...shiftRuns(read.runs, gap, grid)] };
}

/** Reads once for all concurrent callers that accept the age of the points. */
async function readTogether<Series>(
  wanted: RangeQuery,
  key: string,
  reading: RangeRead,
  read: (wanted: RangeQuery) => Promise<GapRead<Series>>,
): Promise<CoveredRange<Series>> {
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
  { runs }: CoveredRange<Series>,
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
  source: SeriesReader<Series>,
  wanted: RangeQuery,
  { key, limits, shared }: Sharing,
  reading: RangeRead,
): Promise<GapRead<Series>> {
  const { kind } = source;
  const { grid } = wanted;
  const { cache, nowMs } = reading;
  return shared.once(readKey(key, grid), { kind, key, grid, limits, nowMs }, async (found) => {
    for (const extent of found) cache.ranges.add(key, extent, bytesOf(kind, extent.series));
    const { runs, gap } = cover(found, grid, limits, nowMs);
    const known = withSource("shared", runs);
    if (gap === undefined) return { runs: known, bytes: 0, warning: "none" as const, isHolder: false };
    const read = await readStore(source, { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } }, key, reading);
    return { ...read, runs: [...known, ...shiftRuns(read.runs, gap, grid)], isHolder: read.warning === "none" };
  });
}

function bytesOf<Series>(kind: SeriesKind<Series>, series: readonly Series[]): number {
  return series.reduce((sum, one) => sum + kind.bytes(one), 0);
}

/** Reads from the store and caches the result, unless the store warns that it may be incomplete. */
async function readStore<Series>(
  source: SeriesReader<Series>,
  { query, grid, call, settledUntilMs }: RangeQuery,
  key: string,
  { cache, nowMs }: RangeRead,
): Promise<GapRead<Series>> {
  const { series, warning } = await source.read(query, { ...grid, alignedMs: alignmentOf(grid) }, call);
  const { startMs, stepMs, count } = grid;
  const extent: CachedExtent<Series> = { startMs, stepMs, count, series, readAtMs: nowMs, settledUntilMs };
  if (warning === "none") cache.ranges.add(key, extent, bytesOf(source.kind, series));
  return { runs: withSource("store", [{ extent, offset: 0, count }]), bytes: call.bytes.taken(), warning };
}
