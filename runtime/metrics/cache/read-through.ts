import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { joinedLater, type Piece, type RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import type { SplitResponse } from "../planning/split-interval.ts";
import {
  cover,
  noReads,
  olderReads,
  oldestReads,
  staleLifetimes,
  type OldestReads,
  type CachedExtent,
  type Run,
} from "./extents.ts";
import {
  extentKey,
  readKey,
  from,
  moved,
  type Found,
  type RangeRead,
  type Source,
  type SourcedRun,
  type Wanted,
} from "./range-read.ts";
import { readGap } from "./read-gap.ts";
import { cutterOf, type SeriesKind } from "./series-kind.ts";

/**
 * Reads a range query through the cache: from memory, rolled up from narrower points, stale points, and the store for
 * the rest.
 *
 * @throws what a read of the store throws
 */
export async function readThrough<Series>(
  source: Source<Series>,
  wanted: Wanted,
  reading: RangeRead,
): Promise<RangeResult<Series>> {
  const { query, grid, call } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = extentKey(source, query, grid, call);
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, lifetimes, nowMs);
  const cached = from("memory", runs);
  if (gap === undefined) return finish(source, { runs: cached, warning: "none" }, grid, reading);
  const missing = { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } };
  const found =
    rollUpFiner(source, { ...wanted, grid: { ...grid, ...gap } }, reading) ??
    findStale(source, missing, key, reading) ??
    (await readGap(source, missing, key, reading));
  return finish(source, { ...found, runs: [...cached, ...moved(found.runs, gap, grid)] }, grid, reading);
}

/**
 * The missing points, if all of them have only just expired: they are served at once and refreshed in the background. A
 * window with new points waits for the store, which then returns the expired points too.
 */
function findStale<Series>(
  source: Source<Series>,
  wanted: Wanted,
  key: string,
  reading: RangeRead,
): Found<Series> | undefined {
  const { cache, lifetimes, nowMs } = reading;
  const { grid } = wanted;
  if ((lifetimes.staleMs ?? 0) === 0) return undefined;
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, staleLifetimes(lifetimes), nowMs);
  if (gap !== undefined) return undefined;
  const hasBegun = cache.refreshes.begin(readKey(key, grid), source.identity, (signal) => {
    const call = { ...wanted.call, signal, bytes: createByteBudget() };
    return readGap({ ...source, read: source.readLater }, { ...wanted, call }, key, { ...reading, isRefresh: true });
  });
  return { runs: from("stale", runs), warning: "none", renewed: hasBegun ? grid.count : 0 };
}

/** The missing points, rolled up from cached narrower points. */
function rollUpFiner<Series>(
  source: Source<Series>,
  { grid, call }: Wanted,
  { cache, lifetimes, nowMs }: RangeRead,
): Found<Series> | undefined {
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
  { kind }: Source<Series>,
  { runs, warning, renewed = 0 }: Found<Series>,
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

function pieceOf<Series>(kind: SeriesKind<Series>, run: Run<Series>, grid: PointGrid): Piece<Series> {
  const { extent, offset, count } = run;
  return { offset, count, read: extent, readAtMs: extent.readAtMs, cut: cutterOf(kind, run, grid) };
}

function wholeOf<Series>({ offset, count, cut }: Piece<Series>, { startMs, stepMs }: PointGrid): SplitResponse<Series> {
  return { split: { offset, grid: { startMs: startMs + offset * stepMs, stepMs, count } }, series: cut(0, count) };
}
