import { createByteBudget } from "../../stores/limits/byte-budget.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { RangeAnswer, RangeGrid } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { ExtentAnswer } from "../planning/split-interval.ts";
import type { Coarsened, CoarseWish } from "./rollup.ts";
import type { Origin, Stretch } from "./cache-status.ts";
import {
  cover,
  newestPieces,
  noReads,
  olderReads,
  oldestReads,
  staleLifetimes,
  type Lifetimes,
  type OldestReads,
  type Piece,
  type Run,
} from "./extents.ts";
import type { ReadCache } from "./read-cache.ts";
import type { SeriesKind } from "./series-kind.ts";
import type { Done, SharedPieces } from "./shared-extents.ts";

/** What one query reads with. */
export interface Reading {
  readonly cache: ReadCache;
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /**
   * Set for a read in the background that replaces stale points: what other pods know must be young enough for memory.
   */
  readonly isRenewal?: true;
  /** Told where the points of each range query came from, and how many of them are read again because of it. */
  readonly note: (stretches: readonly Omit<Stretch, "store">[], reads: OldestReads, renewed: number) => void;
}

type Ask<Series> = (query: string, grid: RangeGrid, call: StoreCall) => Promise<RangeAnswer<Series>>;

/** One kind of series of one store. */
export interface Source<Series> {
  readonly kind: SeriesKind<Series>;
  readonly ask: Ask<Series>;
  /** For reads that go on when the query is answered. */
  readonly askLater: Ask<Series>;
  /** Wide points of narrower ones; undefined for a kind whose points do not merge. */
  readonly coarser?: (wish: CoarseWish<Series>) => Coarsened<Series> | undefined;
  /** Of the kind of series and the store as it is configured now. */
  readonly name: string;
}

/** One range query. */
export interface Wanted {
  readonly query: string;
  readonly grid: RangeGrid;
  readonly call: StoreCall;
  readonly settledUntilMs: number;
  /** Whether other pods may have what is read. */
  readonly mayShare: boolean;
}

/** A run and where its piece is from. */
interface OriginRun<Series> extends Run<Series> {
  readonly origin: Origin;
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
  reading: Reading,
): Promise<RangeAnswer<Series>> {
  const { query, grid, call } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = keyOf(source, query, grid, call);
  const { runs, hole } = cover(cache.ranges.pieces<Series>(key), grid, lifetimes, nowMs);
  const known = from("memory", runs);
  if (hole === undefined) return finish(source, known, wanted, { reading, warning: "none", renewed: 0 });
  const finer = readFiner(source, { ...wanted, grid: { ...grid, ...hole } }, reading);
  if (finer !== undefined)
    return finish(source, [...known, ...moved([finer], hole, grid)], wanted, { reading, warning: "none", renewed: 0 });
  const stale = readStale(source, { ...wanted, grid: { ...hole, rangeMs: grid.rangeMs } }, key, reading);
  if (stale !== undefined)
    return finish(source, [...known, ...moved(stale.runs, hole, grid)], wanted, {
      reading,
      warning: "none",
      renewed: stale.renewed,
    });
  const read = await readHole(source, { ...wanted, grid: { ...hole, rangeMs: grid.rangeMs } }, key, reading);
  return finish(source, [...known, ...moved(read.runs, hole, grid)], wanted, {
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
  reading: Reading,
): { readonly runs: readonly OriginRun<Series>[]; readonly renewed: number } | undefined {
  const { cache, lifetimes, nowMs } = reading;
  const { grid } = wanted;
  if ((lifetimes.staleMs ?? 0) === 0) return undefined;
  const { runs, hole } = cover(cache.ranges.pieces<Series>(key), grid, staleLifetimes(lifetimes), nowMs);
  if (hole !== undefined) return undefined;
  const hasBegun = cache.renewals.begin(flightOf(key, grid), (signal) => {
    const call = { ...wanted.call, signal, bytes: createByteBudget() };
    return readHole({ ...source, ask: source.askLater }, { ...wanted, call }, key, { ...reading, isRenewal: true });
  });
  return { runs: from("stale", runs), renewed: hasBegun ? grid.count : 0 };
}

interface Finishing<Series> extends Pick<RangeAnswer<Series>, "warning"> {
  readonly reading: Reading;
  /** Points that are read again because of it. */
  readonly renewed: number;
}

/** One answer of runs that are all of a grid. */
function finish<Series>(
  { kind }: Source<Series>,
  runs: readonly OriginRun<Series>[],
  { grid }: Wanted,
  { reading, warning, renewed }: Finishing<Series>,
): RangeAnswer<Series> {
  const { startMs, stepMs } = grid;
  reading.note(
    runs.map(({ offset, count, origin }) => ({ startMs: startMs + offset * stepMs, stepMs, count, origin })),
    readsOf(runs, grid),
    renewed,
  );
  return { series: assemble(kind, runs, grid), warning };
}

function from<Series>(origin: Origin, runs: readonly Run<Series>[]): readonly OriginRun<Series>[] {
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

interface HoleRead<Series> extends Pick<RangeAnswer<Series>, "warning"> {
  /** Together the hole, by their places in it. */
  readonly runs: readonly OriginRun<Series>[];
  /** Bytes that the store sent. */
  readonly bytes: number;
}

/**
 * Reads what is missing once for all who want it now. A caller whose lifetimes do not accept what another caller's read
 * found in a cache reads again, with those of equal lifetimes.
 */
async function readHole<Series>(
  source: Source<Series>,
  wanted: Wanted,
  key: string,
  reading: Reading,
): Promise<HoleRead<Series>> {
  const { grid, call } = wanted;
  const { cache } = reading;
  const limits = sharedLifetimes(reading);
  const shared = wanted.mayShare && (reading.lifetimes.sharedMs ?? 0) > 0 ? cache.shared : undefined;
  const flight = flightOf(key, grid);
  const fly = (name: string): Promise<HoleRead<Series>> =>
    cache.flights(name, call.signal, (signal) => {
      const own = { ...wanted, call: { ...call, signal, bytes: createByteBudget() } };
      return shared === undefined
        ? readStore(source, own, key, reading)
        : readShared(source, own, { key, flight, shared }, reading);
    });
  const joined = await fly(flight);
  const read = isAccepted(joined, grid, limits, reading.nowMs) ? joined : await fly(JSON.stringify([flight, limits]));
  call.bytes.take(read.bytes);
  return read;
}

/** How old the points of other pods may be for one reader. */
function sharedLifetimes({ lifetimes: { settledMs, tailMs, sharedMs = 0 }, isRenewal }: Reading): Lifetimes {
  return { settledMs: isRenewal ? settledMs : Math.max(settledMs, sharedMs), tailMs };
}

/** Whether each point is the store's answer of now, or young enough for these lifetimes. */
function isAccepted<Series>(
  { runs }: HoleRead<Series>,
  { startMs, stepMs }: PointGrid,
  limits: Lifetimes,
  nowMs: number,
): boolean {
  return runs.every(({ origin, piece, offset, count }) => {
    const grid = { startMs: startMs + offset * stepMs, stepMs, count };
    return origin === "store" || cover([piece], grid, limits, Math.max(nowMs, piece.readAtMs)).hole === undefined;
  });
}

function readsOf<Series>(runs: readonly OriginRun<Series>[], grid: PointGrid): OldestReads {
  return runs.map((run) => run.reads ?? oldestReads([run], grid)).reduce(olderReads, noReads);
}

/** What is missing, made of narrower points that are known. */
function readFiner<Series>(
  source: Source<Series>,
  { grid, call }: Wanted,
  { cache, lifetimes, nowMs }: Reading,
): OriginRun<Series> | undefined {
  const { startMs, stepMs, count, narrower } = grid;
  if (narrower === undefined) return undefined;
  const pieces = (query: string, widthMs: number): readonly Piece<Series>[] =>
    cache.ranges.pieces(keyOf(source, query, { stepMs: widthMs, rangeMs: widthMs }, call));
  const made = source.coarser?.({ grid: { startMs, stepMs, count }, narrower, pieces, lifetimes, nowMs });
  return made && { piece: made.piece, offset: 0, count, origin: "finer", reads: made.reads };
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
  readonly shared: SharedPieces;
}

/** Looks first for what other pods read; what then is missing is read by one pod, which shares all that it knows. */
function readShared<Series>(
  source: Source<Series>,
  wanted: Wanted,
  { key, flight, shared }: Sharing,
  reading: Reading,
): Promise<HoleRead<Series>> {
  const { kind } = source;
  const { cache, lifetimes, nowMs } = reading;
  const { settledMs, sharedMs = 0 } = lifetimes;
  return shared.once(flight, async (): Promise<Done<HoleRead<Series>, Series>> => {
    const young = cache.ranges.pieces<Series>(key).filter(({ readAtMs }) => nowMs - readAtMs < settledMs);
    const found = await shared.find(kind, key);
    const { runs, hole } = cover([...young, ...found], wanted.grid, sharedLifetimes(reading), nowMs);
    if (reading.isRenewal) keepFound(source, runs, young, cache, key);
    const known = runs.map((run): OriginRun<Series> => ({
      ...run,
      origin: young.includes(run.piece) ? "memory" : "shared",
    }));
    if (hole === undefined) return { result: { runs: known, bytes: 0, warning: "none" }, share: undefined };
    const read = await readStore(source, { ...wanted, grid: { ...hole, rangeMs: wanted.grid.rangeMs } }, key, reading);
    const all = [...known, ...moved(read.runs, hole, wanted.grid)];
    const pieces = newestPieces([...found, ...cache.ranges.pieces<Series>(key)], nowMs - sharedMs);
    return { result: { ...read, runs: all }, share: read.warning === "none" ? { kind, key, pieces } : undefined };
  });
}

/** Keeps what another pod read, so that the next caller gets it from memory. */
function keepFound<Series>(
  { kind }: Source<Series>,
  runs: readonly Run<Series>[],
  young: readonly Piece<Series>[],
  cache: ReadCache,
  key: string,
): void {
  const pieces = new Set(runs.map(({ piece }) => piece).filter((piece) => !young.includes(piece)));
  for (const piece of pieces) cache.ranges.keep(key, piece, bytesOf(kind, piece.series));
}

function bytesOf<Series>(kind: SeriesKind<Series>, series: readonly Series[]): number {
  return series.reduce((sum, one) => sum + kind.bytes(one), 0);
}

/** Reads from the store and keeps what was read, unless it may be otherwise a moment later. */
async function readStore<Series>(
  source: Source<Series>,
  { query, grid, call, settledUntilMs }: Wanted,
  key: string,
  { cache, nowMs }: Reading,
): Promise<HoleRead<Series>> {
  const { series, warning } = await source.ask(query, grid, call);
  const { startMs, stepMs, count } = grid;
  const piece: Piece<Series> = { startMs, stepMs, count, series, readAtMs: nowMs, settledUntilMs };
  if (warning === "none") cache.ranges.keep(key, piece, bytesOf(source.kind, series));
  return { runs: [{ piece, offset: 0, count, origin: "store" }], bytes: call.bytes.taken(), warning };
}

function assemble<Series>(kind: SeriesKind<Series>, runs: readonly Run<Series>[], grid: PointGrid): readonly Series[] {
  const answers = runs.map(({ piece, offset, count }): ExtentAnswer<Series> => {
    const first = Math.round((grid.startMs + offset * grid.stepMs - piece.startMs) / piece.stepMs);
    const isWhole = first === 0 && count === piece.count;
    const series = isWhole ? piece.series : piece.series.flatMap((one) => kind.slice(one, first, count) ?? []);
    return {
      extent: { offset, grid: { startMs: grid.startMs + offset * grid.stepMs, stepMs: grid.stepMs, count } },
      series,
    };
  });
  return kind.join(answers, grid);
}
