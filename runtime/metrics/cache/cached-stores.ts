import { createByteBudget } from "../../stores/byte-budget.ts";
import type { HistogramSeries } from "../../stores/histogram-matrix.ts";
import type { PointGrid, StoreSeries } from "../../stores/matrix.ts";
import type { PrometheusClient, RangeAnswer, RangeGrid } from "../../stores/prometheus-client.ts";
import type { StoreCall } from "../../stores/store-http.ts";
import type { StoreSet } from "../../stores/store-set.ts";
import type { Store } from "../../stores/store.ts";
import type { ExtentAnswer } from "../extents.ts";
import type { PointCounts } from "./hit-log.ts";
import { cover, newestPieces, noReads, olderReads, oldestReads, type Lifetimes, type OldestReads, type Piece, type Run } from "./pieces.ts";
import type { ReadCache } from "./read-cache.ts";
import { nativeHistograms, numbers, type SeriesKind } from "./series-kind.ts";
import type { Done, SharedPieces } from "./shared-pieces.ts";

/** Where the points of a query came from. */
export interface CacheCounts extends PointCounts {
  /** Of the hits, those that another pod had read. */
  readonly shared: number;
  readonly oldest: OldestReads;
  readonly isOn: boolean;
}

/** One query's view of the cache. */
export interface CachedStores {
  readonly stores: StoreSet;
  /** Points of all series of a range that came from the cache, and that were read, each counted once for each range. */
  counts(): CacheCounts;
}

interface Reading {
  readonly cache: ReadCache;
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
  readonly count: (counts: Omit<CacheCounts, "isOn">) => void;
}

/**
 * The same stores, which are asked only for points that are not known. Whatever an answer depends on is in the key: the
 * store as it is configured now, the tenant it is told, and the query with every matcher that a policy made. So callers with
 * equal rights share what is known, and others never do. Source: design §5 "Extents".
 */
export function cachedStores(stores: StoreSet, cache: ReadCache, lifetimes: Lifetimes, nowMs: number): CachedStores {
  let total = { hit: 0, shared: 0, miss: 0, oldest: noReads };
  const count: Reading["count"] = ({ hit, shared, miss, oldest }) => {
    total = { hit: total.hit + hit, shared: total.shared + shared, miss: total.miss + miss, oldest: olderReads(total.oldest, oldest) };
  };
  const reading: Reading = { cache, lifetimes, nowMs, count };
  return {
    stores: {
      ...stores,
      get(key) {
        const store = stores.get(key);
        return { ...store, client: cachedClient(store, reading) };
      },
    },
    counts: () => ({ ...total, isOn: lifetimes.settledMs > 0 }),
  };
}

function cachedClient(store: Store, reading: Reading): PrometheusClient {
  const { client } = store;
  const settledUntilMs = reading.nowMs - store.config.settleSeconds * 1_000;
  const { identity } = store;
  const own = { settledUntilMs, mayShare: reading.cache.shared?.mayHold(store.config.residency) ?? false };
  const asNumbers: Source<StoreSeries> = { kind: numbers, name: `numbers of ${identity}`, ask: (...asked) => client.range(...asked) };
  const asHistograms: Source<HistogramSeries> = {
    kind: nativeHistograms,
    name: `histograms of ${identity}`,
    ask: (...asked) => client.histograms(...asked),
  };
  return {
    ...client,
    range: (query, grid, call) => readThrough(asNumbers, { query, grid, call, ...own }, reading),
    histograms: (query, grid, call) => readThrough(asHistograms, { query, grid, call, ...own }, reading),
    single: (query, timeMs, call) => readMoment({ identity, query, timeMs, call }, client, reading),
  };
}

interface Source<Series> {
  readonly kind: SeriesKind<Series>;
  readonly ask: (query: string, grid: RangeGrid, call: StoreCall) => Promise<RangeAnswer<Series>>;
  /** Of the kind of series and the store as it is configured now. */
  readonly name: string;
}

interface Wanted {
  readonly query: string;
  readonly grid: RangeGrid;
  readonly call: StoreCall;
  readonly settledUntilMs: number;
  /** Whether other pods may have what is read. */
  readonly mayShare: boolean;
}

async function readThrough<Series>(source: Source<Series>, wanted: Wanted, reading: Reading): Promise<RangeAnswer<Series>> {
  const { query, grid, call } = wanted;
  const { cache, lifetimes, nowMs, count } = reading;
  const key = JSON.stringify([source.name, call.tenant ?? null, query, grid.stepMs, grid.rangeMs]);
  const { runs, hole } = cover(cache.ranges.pieces<Series>(key), grid, lifetimes, nowMs);
  if (hole === undefined) {
    count({ hit: grid.count, shared: 0, miss: 0, oldest: oldestReads(runs, grid) });
    return { series: assemble(source.kind, runs, grid), warning: "none" };
  }
  const read = await readHole(source, { ...wanted, grid: { ...hole, rangeMs: grid.rangeMs } }, key, reading);
  const offset = Math.round((hole.startMs - grid.startMs) / grid.stepMs);
  const all = [...runs, ...read.runs.map((run) => ({ ...run, offset: run.offset + offset }))];
  count({ hit: grid.count - read.miss, shared: hole.count - read.miss, miss: read.miss, oldest: oldestReads(all, grid) });
  return { series: assemble(source.kind, all, grid), warning: read.warning };
}

interface HoleRead<Series> extends Pick<RangeAnswer<Series>, "warning"> {
  /** Together the hole, by their places in it. */
  readonly runs: readonly Run<Series>[];
  /** Points that the store was asked for. */
  readonly miss: number;
  /** Bytes that the store sent. */
  readonly bytes: number;
}

/** Reads what is missing once for all who want it now. */
async function readHole<Series>(source: Source<Series>, wanted: Wanted, key: string, reading: Reading): Promise<HoleRead<Series>> {
  const { grid, call } = wanted;
  const { cache, lifetimes } = reading;
  const shared = wanted.mayShare && (lifetimes.sharedMs ?? 0) > 0 ? cache.shared : undefined;
  const flight = JSON.stringify([key, grid.startMs, grid.count]);
  const read = await cache.flights(flight, call.signal, (signal) => {
    const own = { ...wanted, call: { ...call, signal, bytes: createByteBudget() } };
    return shared === undefined ? readStore(source, own, key, reading) : readShared(source, own, { key, flight, shared }, reading);
  });
  call.bytes.take(read.bytes);
  return read;
}

interface Sharing {
  readonly key: string;
  readonly flight: string;
  readonly shared: SharedPieces;
}

/** Looks first for what other pods read; what then is missing is read by one pod, which shares all that it knows. */
function readShared<Series>(source: Source<Series>, wanted: Wanted, { key, flight, shared }: Sharing, reading: Reading): Promise<HoleRead<Series>> {
  const { kind } = source;
  const { cache, lifetimes, nowMs } = reading;
  const { settledMs, tailMs, sharedMs = 0 } = lifetimes;
  return shared.once(flight, async (): Promise<Done<HoleRead<Series>, Series>> => {
    const young = cache.ranges.pieces<Series>(key).filter(({ readAtMs }) => nowMs - readAtMs < settledMs);
    const found = await shared.find(kind, key);
    const { runs, hole } = cover([...young, ...found], wanted.grid, { settledMs: Math.max(settledMs, sharedMs), tailMs }, nowMs);
    if (hole === undefined) return { result: { runs, miss: 0, bytes: 0, warning: "none" }, share: undefined };
    const read = await readStore(source, { ...wanted, grid: { ...hole, rangeMs: wanted.grid.rangeMs } }, key, reading);
    const offset = Math.round((hole.startMs - wanted.grid.startMs) / hole.stepMs);
    const all = [...runs, ...read.runs.map((run) => ({ ...run, offset: run.offset + offset }))];
    const pieces = newestPieces([...found, ...cache.ranges.pieces<Series>(key)], nowMs - sharedMs);
    return { result: { ...read, runs: all }, share: read.warning === "none" ? { kind, key, pieces } : undefined };
  });
}

/** Reads from the store and keeps what was read, unless it may be otherwise a moment later. */
async function readStore<Series>(source: Source<Series>, { query, grid, call, settledUntilMs }: Wanted, key: string, { cache, nowMs }: Reading): Promise<HoleRead<Series>> {
  const { series, warning } = await source.ask(query, grid, call);
  const { startMs, stepMs, count } = grid;
  const piece: Piece<Series> = { startMs, stepMs, count, series, readAtMs: nowMs, settledUntilMs };
  const size = series.reduce((sum, one) => sum + source.kind.bytes(one), 0);
  if (warning === "none") cache.ranges.keep(key, piece, size);
  return { runs: [{ piece, offset: 0, count }], miss: count, bytes: call.bytes.taken(), warning };
}

interface Moment {
  readonly identity: string;
  readonly query: string;
  readonly timeMs: number;
  readonly call: StoreCall;
}

/** One number at one time, which may change as the tail of a window may. */
async function readMoment({ identity, query, timeMs, call }: Moment, client: PrometheusClient, reading: Reading): Promise<number | undefined> {
  const { cache, lifetimes, nowMs } = reading;
  const key = JSON.stringify([identity, call.tenant ?? null, query, timeMs]);
  const known = cache.moments.find(key, nowMs - lifetimes.tailMs);
  if (known !== undefined) return known.value;
  return cache.flights(`moment ${key}`, call.signal, async (signal) => {
    const value = await client.single(query, timeMs, { ...call, signal, bytes: createByteBudget() });
    cache.moments.keep(key, { value, readAtMs: nowMs });
    return value;
  });
}

function assemble<Series>(kind: SeriesKind<Series>, runs: readonly Run<Series>[], grid: PointGrid): readonly Series[] {
  const answers = runs.map(({ piece, offset, count }): ExtentAnswer<Series> => {
    const from = Math.round((grid.startMs + offset * grid.stepMs - piece.startMs) / piece.stepMs);
    const isWhole = from === 0 && count === piece.count;
    const series = isWhole ? piece.series : piece.series.flatMap((one) => kind.slice(one, from, count) ?? []);
    return { extent: { offset, grid: { startMs: grid.startMs + offset * grid.stepMs, stepMs: grid.stepMs, count } }, series };
  });
  return kind.join(answers, grid);
}
