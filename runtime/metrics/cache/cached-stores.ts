import type { HistogramSeries } from "../../stores/prometheus/histogram-matrix.ts";
import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { PrometheusClient } from "../../stores/prometheus/prometheus-client.ts";
import { withClients, type Stores } from "../../stores/store-set.ts";
import type { Store } from "../../stores/store.ts";
import { rollUp } from "./rollup.ts";
import type { PointSource, SourcedRange } from "./cache-status.ts";
import type { PointCounts } from "./hit-ratio.ts";
import { noReads, olderReads, type Lifetimes, type OldestReads } from "./extents.ts";
import type { ReadCache } from "./read-cache.ts";
import { readInstantValue } from "./read-instant.ts";
import type { RangeRead, Source } from "./range-read.ts";
import { readThrough } from "./read-through.ts";
import { nativeHistograms, numbers } from "./series-kind.ts";
import { answerAt, askTogether, queryTogether } from "./together.ts";

/** Where the points of a query came from. */
export interface CacheCounts extends PointCounts {
  /** Of the hits, those that another pod had read. */
  readonly shared: number;
  /** Of the hits, those that were merged from narrower points. */
  readonly finer: number;
  readonly oldest: OldestReads;
  readonly isOn: boolean;
  /** Of the hits, those that were served although their lifetime was just over. */
  readonly stale: number;
  /** Of those, the ones that this query had read again. */
  readonly renewed: number;
  /** Whether what was missing was looked for among what pods share. */
  readonly isSharing: boolean;
  /** Every range query's, in no order. */
  readonly sourcedRanges: readonly SourcedRange[];
}

/** One query's view of the cache. */
export interface CachedStores {
  readonly stores: Stores;
  /** Points of all series of a range that came from the cache, and that were read, each counted once for each range. */
  counts(): CacheCounts;
}

/** What one query reads through the cache with. */
interface CachedStoresOptions {
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The stores for reads that go on when the query is answered. @default the same */
  readonly lasting?: Stores;
}

/**
 * The same stores, which are asked only for points that are not known. Whatever an answer depends on is in the key: the
 * store as it is configured now, the tenant it is told, and the query with every matcher that a policy made. So callers
 * with equal rights share what is known, and others never do. Source: design §5 "Extents".
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
        sourcedRanges.reduce((sum, { origin, count }) => sum + (wanted.includes(origin) ? count : 0), 0);
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

/** The share of a query's points that stores compute for it, now or in the background; 1 when nothing was counted. */
export function computedShare({ hit, miss, renewed }: CacheCounts): number {
  return hit + miss === 0 ? 1 : (miss + renewed) / (hit + miss);
}

function cachedClient(store: Store, lasting: Store, reading: RangeRead): PrometheusClient {
  const { client, identity } = store;
  const settledUntilMs = reading.nowMs - store.config.settleSeconds * 1_000;
  const own = { settledUntilMs, mayShare: reading.cache.shared?.mayHold(store.config.residency) ?? false };
  const asNumbers: Source<StoreSeries> = {
    kind: numbers,
    name: `numbers of ${identity}`,
    ask: (...asked) => client.range(...asked),
    askLater: (...asked) => lasting.run(() => lasting.client.range(...asked)),
    coarser: rollUp,
  };
  const asHistograms: Source<HistogramSeries> = {
    kind: nativeHistograms,
    name: `histograms of ${identity}`,
    ask: (...asked) => client.histograms(...asked),
    askLater: (...asked) => lasting.run(() => lasting.client.histograms(...asked)),
  };
  const inOne: Source<StoreSeries> = {
    ...asNumbers,
    name: `numbers together of ${identity}`,
    ask: (...asked) => askTogether(client, ...asked),
    askLater: (...asked) => lasting.run(() => askTogether(lasting.client, ...asked)),
  };
  return {
    ...client,
    async ranges(asks, call) {
      const wanted = queryTogether(asks);
      if (wanted === undefined) return [];
      const note: RangeRead["note"] = (sourcedRanges, reads, renewed) =>
        reading.note(
          asks.flatMap(() => sourcedRanges),
          reads,
          renewed * asks.length,
        );
      const answer = await readThrough(inOne, { ...wanted, call, ...own }, { ...reading, note });
      return asks.map((_, place) => answerAt(answer, place));
    },
    range: (query, grid, call) => readThrough(asNumbers, { query, grid, call, ...own }, reading),
    histograms: (query, grid, call) => readThrough(asHistograms, { query, grid, call, ...own }, reading),
    single: (query, timeMs, call) =>
      readInstantValue({ identity, query, timeMs, call }, { now: client, later: lasting }, reading),
  };
}
