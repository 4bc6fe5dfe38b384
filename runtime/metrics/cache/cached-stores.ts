// The caches of points and responses: extents in memory and of other pods, rollup, and background refresh. PromQL
// is elsewhere.
import { gravest } from "../../stores/prometheus/api-response.ts";
import type { HistogramSeries, StoreSeries } from "../../stores/prometheus/matrix.ts";
import {
  joinedLater,
  type Narrower,
  type PrometheusClient,
  type RangeAsk,
  type RangeGrid,
  type RangeResult,
} from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { type Stores, withClients } from "../../stores/store-set.ts";
import type { Store } from "../../stores/store.ts";
import type { PointCounts, PointSource, SourcedRange } from "./cache-status.ts";
import { type Lifetimes, noReads, olderReads, type OldestReads } from "./extents.ts";
import { type RangeRead, readInstantValue, type Source } from "./range-read.ts";
import type { ReadCache } from "./read-cache.ts";
import { readThrough } from "./read-through.ts";
import { rollUp } from "./rollup.ts";
import { histogramSeries, numberSeries } from "./series-kind.ts";

/** The points of one query by their source. */
export interface CacheCounts extends PointCounts {
  /** Of the hits, those that another pod had read, or this pod before the lifetime of memory. */
  readonly shared: number;
  /** Of the hits, those that were rolled up from narrower points. */
  readonly finer: number;
  readonly oldest: OldestReads;
  readonly isOn: boolean;
  /** Of the hits, those whose lifetime had just ended. */
  readonly stale: number;
  /** Of the stale points, those that this query refreshes in the background. */
  readonly renewed: number;
  /** Set when missing points had a shared lifetime. */
  readonly isSharing: boolean;
  /** Of every range query, in no order. */
  readonly sourcedRanges: readonly SourcedRange[];
}

/** The stores as one query reads them through the cache. */
export interface CachedStores {
  readonly stores: Stores;
  /** The points read so far. A point counts once for each range query, whatever the number of series. */
  counts(): CacheCounts;
}

interface CachedStoresOptions {
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The stores for background refreshes, which continue after the response. @default the same */
  readonly lasting?: Stores;
}

/**
 * Reads stores through the cache, so that a store receives requests for missing points only. The cache key holds
 * everything that a result depends on: the configuration of the store, the tenant, and the query with the matchers of
 * the policy. Only callers with equal rights therefore share points.
 */
export function cachedStores(
  stores: Stores,
  cache: ReadCache,
  { lifetimes, nowMs, lasting = stores }: CachedStoresOptions,
): CachedStores {
  const sourcedRanges: SourcedRange[] = [];
  let oldest = noReads;
  let renewed = 0;
  const isSharing = cache.shared !== undefined && (lifetimes.sharedMs ?? 0) > 0;
  return {
    stores: withClients(stores, (key, store) => {
      const note: RangeRead["note"] = (own, reads, points) => {
        sourcedRanges.push(...own.map((range) => ({ ...range, store: key })));
        oldest = olderReads(oldest, reads);
        renewed += points;
      };
      return cachedClient(store, lasting.get(key), { cache, lifetimes, nowMs, note });
    }),
    counts() {
      const of = (...wanted: readonly PointSource[]): number =>
        sourcedRanges.reduce((sum, { source, count }) => sum + (wanted.includes(source) ? count : 0), 0);
      const hit = of("memory", "finer", "shared", "stale");
      return {
        hit,
        finer: of("finer"),
        shared: of("shared"),
        stale: of("stale"),
        renewed,
        miss: of("store"),
        oldest,
        isOn: lifetimes.settledMs > 0,
        isSharing,
        sourcedRanges,
      };
    },
  };
}

/** The share of a query's points that stores compute, now or in the background; 1 without any point. */
export function computedShare({ hit, miss, renewed }: CacheCounts): number {
  return hit + miss === 0 ? 1 : (miss + renewed) / (hit + miss);
}

function cachedClient(store: Store, lasting: Store, reading: RangeRead): PrometheusClient {
  const { client, identity } = store;
  const settledUntilMs = reading.nowMs - store.config.settleSeconds * 1_000;
  const own = { settledUntilMs, mayShare: reading.cache.shared?.mayHold(store.config.residency) ?? false };
  const asNumbers: Source<StoreSeries> = {
    kind: numberSeries,
    name: `numbers of ${identity}`,
    identity,
    read: (...args) => client.range(...args),
    readLater: (...args) => lasting.run(() => lasting.client.range(...args)),
    rollUp,
  };
  const asHistograms: Source<HistogramSeries> = {
    kind: histogramSeries,
    name: `histograms of ${identity}`,
    identity,
    read: (...args) => client.histograms(...args),
    readLater: (...args) => lasting.run(() => lasting.client.histograms(...args)),
  };
  const combined: Source<StoreSeries> = {
    ...asNumbers,
    name: `numbers together of ${identity}`,
    read: (...args) => readCombined(client, ...args),
    readLater: (...args) => lasting.run(() => readCombined(lasting.client, ...args)),
  };
  return {
    ...client,
    async ranges(asks, call) {
      const wanted = combineQueries(asks);
      if (wanted === undefined) return [];
      const note: RangeRead["note"] = (sourcedRanges, reads, renewed) =>
        reading.note(
          asks.flatMap(() => sourcedRanges),
          reads,
          renewed * asks.length,
        );
      const result = await readThrough(combined, { ...wanted, call, ...own }, { ...reading, note });
      return asks.map((_, place) => resultAt(result, place));
    },
    range: (query, grid, call) => readThrough(asNumbers, { query, grid, call, ...own }, reading),
    histograms: (query, grid, call) => readThrough(asHistograms, { query, grid, call, ...own }, reading),
    single: (query, timeMs, call) =>
      readInstantValue({ identity, query, timeMs, call, settledUntilMs }, { now: client, later: lasting }, reading),
  };
}

/** A label that no store has; it holds the index of the query of a series. */
const placeLabel = "";

/** Combines several range queries into one, so that their cached and shared points are always of the same read. */
function combineQueries(asks: readonly RangeAsk[]): { readonly query: string; readonly grid: RangeGrid } | undefined {
  const [first] = asks;
  if (first === undefined) return undefined;
  return {
    query: JSON.stringify(asks.map(({ query }) => query)),
    grid: { ...first.grid, narrower: combineNarrower(asks) },
  };
}

/** Prints all queries for narrower points; undefined unless the points of all of them merge in the same way. */
function combineNarrower(asks: readonly RangeAsk[]): Narrower | undefined {
  const [first, ...others] = asks.map(({ grid: { narrower } }) => narrower);
  if (first === undefined || others.some((other) => other?.merge !== first.merge)) return undefined;
  return {
    merge: first.merge,
    print(widthMs) {
      const printed = asks.map(({ grid: { narrower } }) => narrower?.print(widthMs));
      return printed.includes(undefined) ? undefined : JSON.stringify(printed);
    },
  };
}

/** Reads a query of {@link combineQueries}, each of its parts in its own request. */
async function readCombined(
  client: PrometheusClient,
  query: string,
  grid: RangeGrid,
  call: StoreCall,
): Promise<RangeResult<StoreSeries>> {
  const results = await Promise.all(
    (JSON.parse(query) as readonly string[]).map((one) => client.range(one, grid, call)),
  );
  return {
    series: results.flatMap(({ series }, place) =>
      series.map((one) => ({ ...one, labels: { ...one.labels, [placeLabel]: String(place) } })),
    ),
    warning: gravest(results.map(({ warning }) => warning)),
  };
}

/** The result of one of the combined queries. */
function resultAt(result: RangeResult<StoreSeries>, place: number): RangeResult<StoreSeries> {
  const pieces = result.pieces?.map((piece) => ({
    ...piece,
    cut: (first: number, count: number) => seriesAt(piece.cut(first, count), place),
  }));
  return joinedLater({ pieces, warning: result.warning }, () => seriesAt(result.series, place));
}

function seriesAt(series: readonly StoreSeries[], place: number): readonly StoreSeries[] {
  return series.flatMap(({ labels: { [placeLabel]: at, ...labels }, ...values }) =>
    at === String(place) ? [{ ...values, labels }] : [],
  );
}
