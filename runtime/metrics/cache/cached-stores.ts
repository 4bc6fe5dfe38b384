// The caches of points and responses: extents in memory and of other pods, rollup, and background refresh. PromQL
// is elsewhere.
import { createByteBudget } from "../../stores/limits/fan-out.ts";
import { gravest, type StoreSeries } from "../../stores/prometheus/matrix.ts";
import {
  joinedLater,
  type Narrower,
  type PrometheusClient,
  type RangeAsk,
  type RangeGrid,
  type RangeResult,
} from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { type Store, type Stores, withClients } from "../../stores/store.ts";
import {
  type Lifetimes,
  noReads,
  olderReads,
  type OldestReads,
  type PointSource,
  type SourcedRange,
  staleLifetimes,
} from "./extents.ts";
import { type RangeRead, rollUp, type SeriesReader } from "./range-read.ts";
import type { PointCounts, ReadCache } from "./read-cache.ts";
import { readThrough } from "./read-through.ts";
import { histogramSeries, numberSeries, type SeriesKind } from "./series-kind.ts";

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

type ReadOf<Series> = (
  from: PrometheusClient,
  ...args: Parameters<SeriesReader<Series>["read"]>
) => Promise<RangeResult<Series>>;

function cachedClient(store: Store, lasting: Store, reading: RangeRead): PrometheusClient {
  const { client, identity } = store;
  const settledUntilMs = reading.nowMs - store.config.settleSeconds * 1_000;
  const own = { settledUntilMs, mayShare: reading.cache.shared?.mayHold(store.config.residency) ?? false };
  const reader = <Series>(kind: SeriesKind<Series>, name: string, read: ReadOf<Series>): SeriesReader<Series> => ({
    kind,
    name: `${name} of ${identity}`,
    identity,
    read: (...args) => read(client, ...args),
    readLater: (...args) => lasting.run(() => read(lasting.client, ...args)),
  });
  const asNumbers = { ...reader(numberSeries, "numbers", (from, ...args) => from.range(...args)), rollUp };
  const asHistograms = reader(histogramSeries, "histograms", (from, ...args) => from.histograms(...args));
  const combined = { ...reader(numberSeries, "numbers together", readCombined), rollUp };
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

interface WantedInstant {
  /** Identity of the store with its current configuration. */
  readonly identity: string;
  readonly query: string;
  readonly timeMs: number;
  readonly call: StoreCall;
  /** The time before which the store is settled. */
  readonly settledUntilMs: number;
}

interface InstantSource {
  readonly now: PrometheusClient;
  /** For background refreshes, which continue after the response. */
  readonly later: Store;
}

/** Reads the value of an instant query through the cache. The value has the lifetime of a point of its time. */
async function readInstantValue(
  wanted: WantedInstant,
  { now, later }: InstantSource,
  reading: RangeRead,
): Promise<number | undefined> {
  const { identity, query, timeMs, call, settledUntilMs } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = JSON.stringify([identity, call.tenant ?? null, query, timeMs]);
  const lifetime = timeMs < settledUntilMs ? "settledMs" : "tailMs";
  const cached = cache.instantValues.find(key, nowMs - staleLifetimes(lifetimes)[lifetime]);
  const read = (client: PrometheusClient, signal: AbortSignal): Promise<number | undefined> =>
    cache.singleFlight(
      `instant ${key}`,
      async (ending) => {
        const value = await client.single(query, timeMs, { ...call, signal: ending, bytes: createByteBudget() });
        cache.instantValues.set(key, { value, readAtMs: nowMs });
        return value;
      },
      signal,
    );
  if (cached === undefined) return read(now, call.signal);
  if (nowMs - cached.readAtMs >= lifetimes[lifetime])
    cache.refreshes.begin(`instant ${key}`, identity, (signal) => later.run(() => read(later.client, signal)));
  return cached.value;
}
