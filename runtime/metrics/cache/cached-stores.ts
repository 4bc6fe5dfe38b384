import { createByteBudget } from "../../stores/byte-budget.ts";
import type { HistogramSeries } from "../../stores/histogram-matrix.ts";
import type { PointGrid, StoreSeries } from "../../stores/matrix.ts";
import type { PrometheusClient, RangeAnswer, RangeGrid } from "../../stores/prometheus-client.ts";
import type { StoreCall } from "../../stores/store-http.ts";
import type { StoreSet } from "../../stores/store-set.ts";
import type { Store } from "../../stores/store.ts";
import type { ExtentAnswer } from "../extents.ts";
import type { PointCounts } from "./hit-log.ts";
import { cover, type Lifetimes, type Piece, type Run } from "./pieces.ts";
import type { ReadCache } from "./read-cache.ts";
import { nativeHistograms, numbers, type SeriesKind } from "./series-kind.ts";


/** One query's view of the cache. */
export interface CachedStores {
  readonly stores: StoreSet;
  /** Points of all series of a range that came from the cache, and that were read, each counted once for each range. */
  counts(): PointCounts & { readonly isOn: boolean };
}

interface Reading {
  readonly cache: ReadCache;
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
  readonly count: (hit: number, miss: number) => void;
}

/**
 * The same stores, which are asked only for points that are not known. Whatever an answer depends on is in the key: the
 * store as it is configured now, the tenant it is told, and the query with every matcher that a policy made. So callers with
 * equal rights share what is known, and others never do. Source: design §5 "Extents".
 */
export function cachedStores(stores: StoreSet, cache: ReadCache, lifetimes: Lifetimes, nowMs: number): CachedStores {
  let [hit, miss] = [0, 0];
  const count = (hits: number, misses: number): void => {
    hit += hits;
    miss += misses;
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
    counts: () => ({ hit, miss, isOn: lifetimes.settledMs > 0 }),
  };
}

function cachedClient(store: Store, reading: Reading): PrometheusClient {
  const { client } = store;
  const { cache, nowMs } = reading;
  const settledUntilMs = nowMs - store.config.settleSeconds * 1_000;
  const identity = cache.identityOf(store.config);
  const asNumbers: Source<StoreSeries> = { kind: numbers, name: `numbers of ${identity}`, ask: (...asked) => client.range(...asked) };
  const asHistograms: Source<HistogramSeries> = {
    kind: nativeHistograms,
    name: `histograms of ${identity}`,
    ask: (...asked) => client.histograms(...asked),
  };
  return {
    ...client,
    range: (query, grid, call) => readThrough(asNumbers, { query, grid, call, settledUntilMs }, reading),
    histograms: (query, grid, call) => readThrough(asHistograms, { query, grid, call, settledUntilMs }, reading),
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
}

async function readThrough<Series>(source: Source<Series>, wanted: Wanted, reading: Reading): Promise<RangeAnswer<Series>> {
  const { query, grid, call } = wanted;
  const { cache, lifetimes, nowMs, count } = reading;
  const key = JSON.stringify([source.name, call.tenant ?? null, query, grid.stepMs, grid.rangeMs]);
  const { runs, hole } = cover(cache.ranges.pieces<Series>(key), grid, lifetimes, nowMs);
  count(grid.count - (hole?.count ?? 0), hole?.count ?? 0);
  if (hole === undefined) return { series: assemble(source.kind, runs, grid), warning: "none" };
  const { piece, warning } = await fetchPiece(source, { ...wanted, grid: { ...hole, rangeMs: grid.rangeMs } }, key, reading);
  const own: Run<Series> = { piece, offset: Math.round((hole.startMs - grid.startMs) / grid.stepMs), count: hole.count };
  return { series: assemble(source.kind, [...runs, own], grid), warning };
}

interface Fetched<Series> extends Pick<RangeAnswer<Series>, "warning"> {
  readonly piece: Piece<Series>;
  /** Bytes that the store sent. */
  readonly bytes: number;
}

/** Reads a piece once for all who want it now, and keeps it unless it may be otherwise a moment later. */
async function fetchPiece<Series>(source: Source<Series>, wanted: Wanted, key: string, { cache, nowMs }: Reading): Promise<Fetched<Series>> {
  const { query, grid, call, settledUntilMs } = wanted;
  const flight = JSON.stringify([key, grid.startMs, grid.count]);
  const fetched = await cache.flights(flight, call.signal, async (signal): Promise<Fetched<Series>> => {
    const bytes = createByteBudget();
    const { series, warning } = await source.ask(query, grid, { signal, bytes, tenant: call.tenant });
    const { startMs, stepMs, count } = grid;
    const piece: Piece<Series> = { startMs, stepMs, count, series, readAtMs: nowMs, settledUntilMs };
    const size = series.reduce((sum, one) => sum + source.kind.bytes(one), 0);
    if (warning === "none") cache.ranges.keep(key, piece, size);
    return { piece, warning, bytes: bytes.taken() };
  });
  call.bytes.take(fetched.bytes);
  return fetched;
}

interface Moment {
  readonly identity: number;
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
