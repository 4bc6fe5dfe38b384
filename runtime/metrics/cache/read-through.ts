import { createByteBudget } from "../../stores/limits/byte-budget.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { RangeResult, RangeGrid } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { SplitResponse } from "../planning/split-interval.ts";
import type { Coarsened, RollupRequest } from "./rollup.ts";
import type { PointSource, SourcedRange } from "./cache-status.ts";
import {
  cover,
  newestExtents,
  noReads,
  olderReads,
  oldestReads,
  staleLifetimes,
  type Lifetimes,
  type OldestReads,
  type CachedExtent,
  type Run,
} from "./extents.ts";
import type { ReadCache } from "./read-cache.ts";
import type { SeriesKind } from "./series-kind.ts";
import type { Done, SharedExtents } from "./shared-extents.ts";

/** What one query reads with. */
export interface RangeRead {
  readonly cache: ReadCache;
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /**
   * Set for a read in the background that replaces stale points: what other pods know must be young enough for memory.
   */
  readonly isRefresh?: true;
  /** Told where the points of each range query came from, and how many of them are read again because of it. */
  readonly note: (sourcedRanges: readonly Omit<SourcedRange, "store">[], reads: OldestReads, renewed: number) => void;
}

type Ask<Series> = (query: string, grid: RangeGrid, call: StoreCall) => Promise<RangeResult<Series>>;

/** One kind of series of one store. */
export interface Source<Series> {
  readonly kind: SeriesKind<Series>;
  readonly ask: Ask<Series>;
  /** For reads that go on when the query is answered. */
  readonly askLater: Ask<Series>;
  /** Wide points of narrower ones; undefined for a kind whose points do not merge. */
  readonly coarser?: (wish: RollupRequest<Series>) => Coarsened<Series> | undefined;
  /** Of the kind of series and the store as it is configured now. */
  readonly name: string;
}

/** One range query. */
interface Wanted {
  readonly query: string;
  readonly grid: RangeGrid;
  readonly call: StoreCall;
  readonly settledUntilMs: number;
  /** Whether other pods may have what is read. */
  readonly mayShare: boolean;
}

/** A run and where its extent is from. */
interface OriginRun<Series> extends Run<Series> {
  readonly origin: PointSource;
  /** When its points were read, if that was not all at once. */
  readonly reads?: OldestReads;
}

/**
 * A range query's answer, of which the store is asked for no more than what is missing. @throws what asking the store
 * throws
 */
export async function readThrough<Series>(
  source: Source<Series>,
  wanted: Wanted,
  reading: RangeRead,
): Promise<RangeResult<Series>> {
  const { query, grid, call } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = keyOf(source, query, grid, call);
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, lifetimes, nowMs);
  const known = from("memory", runs);
  if (gap === undefined) return finish(source, known, wanted, { reading, warning: "none", renewed: 0 });
  const finer = readFiner(source, { ...wanted, grid: { ...grid, ...gap } }, reading);
  if (finer !== undefined)
    return finish(source, [...known, ...moved([finer], gap, grid)], wanted, { reading, warning: "none", renewed: 0 });
  const stale = readStale(source, { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } }, key, reading);
  if (stale !== undefined)
    return finish(source, [...known, ...moved(stale.runs, gap, grid)], wanted, {
      reading,
      warning: "none",
      renewed: stale.renewed,
    });
  const read = await readGap(source, { ...wanted, grid: { ...gap, rangeMs: grid.rangeMs } }, key, reading);
  return finish(source, [...known, ...moved(read.runs, gap, grid)], wanted, {
    reading,
    warning: read.warning,
    renewed: 0,
  });
}

/**
 * What is missing, if all of it is there and its lifetime was over only just now: then it is served at once, and read
 * again for those who come later. A window that has new points besides has to wait for those, and gets the others with
 * them.
 */
function readStale<Series>(
  source: Source<Series>,
  wanted: Wanted,
  key: string,
  reading: RangeRead,
): { readonly runs: readonly OriginRun<Series>[]; readonly renewed: number } | undefined {
  const { cache, lifetimes, nowMs } = reading;
  const { grid } = wanted;
  if ((lifetimes.staleMs ?? 0) === 0) return undefined;
  const { runs, gap } = cover(cache.ranges.extents<Series>(key), grid, staleLifetimes(lifetimes), nowMs);
  if (gap !== undefined) return undefined;
  const hasBegun = cache.refreshes.begin(flightOf(key, grid), (signal) => {
    const call = { ...wanted.call, signal, bytes: createByteBudget() };
    return readGap({ ...source, ask: source.askLater }, { ...wanted, call }, key, { ...reading, isRefresh: true });
  });
  return { runs: from("stale", runs), renewed: hasBegun ? grid.count : 0 };
}

interface Finishing<Series> extends Pick<RangeResult<Series>, "warning"> {
  readonly reading: RangeRead;
  /** Points that are read again because of it. */
  readonly renewed: number;
}

/** One answer of runs that are all of a grid. */
function finish<Series>(
  { kind }: Source<Series>,
  runs: readonly OriginRun<Series>[],
  { grid }: Wanted,
  { reading, warning, renewed }: Finishing<Series>,
): RangeResult<Series> {
  const { startMs, stepMs } = grid;
  reading.note(
    runs.map(({ offset, count, origin }) => ({ startMs: startMs + offset * stepMs, stepMs, count, origin })),
    readsOf(runs, grid),
    renewed,
  );
  return { series: assemble(kind, runs, grid), warning };
}

function from<Series>(origin: PointSource, runs: readonly Run<Series>[]): readonly OriginRun<Series>[] {
  return runs.map((run) => ({ ...run, origin }));
}

/** Runs of a part of a grid, by their places in the whole. */
function moved<Series>(
  runs: readonly OriginRun<Series>[],
  part: PointGrid,
  { startMs, stepMs }: PointGrid,
): readonly OriginRun<Series>[] {
  const offset = Math.round((part.startMs - startMs) / stepMs);
  return runs.map((run) => ({ ...run, offset: run.offset + offset }));
}

interface GapRead<Series> extends Pick<RangeResult<Series>, "warning"> {
  /** Together the gap, by their places in it. */
  readonly runs: readonly OriginRun<Series>[];
  /** Bytes that the store sent. */
  readonly bytes: number;
}

/**
 * Reads what is missing once for all who want it now. A caller whose lifetimes do not accept what another caller's read
 * found in a cache reads again, with those of equal lifetimes.
 */
async function readGap<Series>(
  source: Source<Series>,
  wanted: Wanted,
  key: string,
  reading: RangeRead,
): Promise<GapRead<Series>> {
  const { grid, call } = wanted;
  const { cache } = reading;
  const limits = sharedLifetimes(reading);
  const shared = wanted.mayShare && (reading.lifetimes.sharedMs ?? 0) > 0 ? cache.shared : undefined;
  const flight = flightOf(key, grid);
  const fly = (name: string): Promise<GapRead<Series>> =>
    cache.flights(
      name,
      (signal) => {
        const own = { ...wanted, call: { ...call, signal, bytes: createByteBudget() } };
        return shared === undefined
          ? readStore(source, own, key, reading)
          : readShared(source, own, { key, flight, shared }, reading);
      },
      call.signal,
    );
  const joined = await fly(flight);
  const read = isAccepted(joined, grid, limits, reading.nowMs) ? joined : await fly(JSON.stringify([flight, limits]));
  call.bytes.take(read.bytes);
  return read;
}

/** How old the points of other pods may be for one reader. */
function sharedLifetimes({ lifetimes: { settledMs, tailMs, sharedMs = 0 }, isRefresh }: RangeRead): Lifetimes {
  return { settledMs: isRefresh ? settledMs : Math.max(settledMs, sharedMs), tailMs };
}

/** Whether each point is the store's answer of now, or young enough for these lifetimes. */
function isAccepted<Series>(
  { runs }: GapRead<Series>,
  { startMs, stepMs }: PointGrid,
  limits: Lifetimes,
  nowMs: number,
): boolean {
  return runs.every(({ origin, extent, offset, count }) => {
    const grid = { startMs: startMs + offset * stepMs, stepMs, count };
    return origin === "store" || cover([extent], grid, limits, Math.max(nowMs, extent.readAtMs)).gap === undefined;
  });
}

function readsOf<Series>(runs: readonly OriginRun<Series>[], grid: PointGrid): OldestReads {
  return runs.map((run) => run.reads ?? oldestReads([run], grid)).reduce(olderReads, noReads);
}

/** What is missing, made of narrower points that are known. */
function readFiner<Series>(
  source: Source<Series>,
  { grid, call }: Wanted,
  { cache, lifetimes, nowMs }: RangeRead,
): OriginRun<Series> | undefined {
  const { startMs, stepMs, count, narrower } = grid;
  if (narrower === undefined) return undefined;
  const extents = (query: string, widthMs: number): readonly CachedExtent<Series>[] =>
    cache.ranges.extents(keyOf(source, query, { stepMs: widthMs, rangeMs: widthMs }, call));
  const made = source.coarser?.({ grid: { startMs, stepMs, count }, narrower, extents, lifetimes, nowMs });
  return made && { extent: made.extent, offset: 0, count, origin: "finer", reads: made.reads };
}

/** Everything that points depend on, but for their times. */
function keyOf<Series>(
  { name }: Source<Series>,
  query: string,
  { stepMs, rangeMs }: Pick<RangeGrid, "stepMs" | "rangeMs">,
  { tenant }: StoreCall,
): string {
  return JSON.stringify([name, tenant ?? null, query, stepMs, rangeMs]);
}

/** Equal for reads that are the same work. */
function flightOf(key: string, { startMs, count }: PointGrid): string {
  return JSON.stringify([key, startMs, count]);
}

interface Sharing {
  readonly key: string;
  readonly flight: string;
  readonly shared: SharedExtents;
}

/** Looks first for what other pods read; what then is missing is read by one pod, which shares all that it knows. */
function readShared<Series>(
  source: Source<Series>,
  wanted: Wanted,
  { key, flight, shared }: Sharing,
  reading: RangeRead,
): Promise<GapRead<Series>> {
  const { kind } = source;
  const { cache, lifetimes, nowMs } = reading;
  const { settledMs, sharedMs = 0 } = lifetimes;
  return shared.once(flight, async (): Promise<Done<GapRead<Series>, Series>> => {
    const young = cache.ranges.extents<Series>(key).filter(({ readAtMs }) => nowMs - readAtMs < settledMs);
    const found = await shared.find(kind, key);
    const { runs, gap } = cover([...young, ...found], wanted.grid, sharedLifetimes(reading), nowMs);
    if (reading.isRefresh) keepFound(source, runs, young, cache, key);
    const known = runs.map((run): OriginRun<Series> => ({
      ...run,
      origin: young.includes(run.extent) ? "memory" : "shared",
    }));
    if (gap === undefined) return { result: { runs: known, bytes: 0, warning: "none" }, share: undefined };
    const read = await readStore(source, { ...wanted, grid: { ...gap, rangeMs: wanted.grid.rangeMs } }, key, reading);
    const all = [...known, ...moved(read.runs, gap, wanted.grid)];
    const extents = newestExtents([...found, ...cache.ranges.extents<Series>(key)], nowMs - sharedMs);
    return { result: { ...read, runs: all }, share: read.warning === "none" ? { kind, key, extents } : undefined };
  });
}

/** Keeps what another pod read, so that the next caller gets it from memory. */
function keepFound<Series>(
  { kind }: Source<Series>,
  runs: readonly Run<Series>[],
  young: readonly CachedExtent<Series>[],
  cache: ReadCache,
  key: string,
): void {
  const extents = new Set(runs.map(({ extent }) => extent).filter((extent) => !young.includes(extent)));
  for (const extent of extents) cache.ranges.keep(key, extent, bytesOf(kind, extent.series));
}

function bytesOf<Series>(kind: SeriesKind<Series>, series: readonly Series[]): number {
  return series.reduce((sum, one) => sum + kind.bytes(one), 0);
}

/** Reads from the store and keeps what was read, unless it may be otherwise a moment later. */
async function readStore<Series>(
  source: Source<Series>,
  { query, grid, call, settledUntilMs }: Wanted,
  key: string,
  { cache, nowMs }: RangeRead,
): Promise<GapRead<Series>> {
  const { series, warning } = await source.ask(query, grid, call);
  const { startMs, stepMs, count } = grid;
  const extent: CachedExtent<Series> = { startMs, stepMs, count, series, readAtMs: nowMs, settledUntilMs };
  if (warning === "none") cache.ranges.keep(key, extent, bytesOf(source.kind, series));
  return { runs: [{ extent, offset: 0, count, origin: "store" }], bytes: call.bytes.taken(), warning };
}

function assemble<Series>(kind: SeriesKind<Series>, runs: readonly Run<Series>[], grid: PointGrid): readonly Series[] {
  const answers = runs.map(({ extent, offset, count }): SplitResponse<Series> => {
    const first = Math.round((grid.startMs + offset * grid.stepMs - extent.startMs) / extent.stepMs);
    const isWhole = first === 0 && count === extent.count;
    const series = isWhole ? extent.series : extent.series.flatMap((one) => kind.slice(one, first, count) ?? []);
    return {
      split: { offset, grid: { startMs: grid.startMs + offset * grid.stepMs, stepMs: grid.stepMs, count } },
      series,
    };
  });
  return kind.join(answers, grid);
}
