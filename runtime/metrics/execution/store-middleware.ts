import type { ReadCache } from "../cache/read-cache.ts";
import { cachedStores, type CachedStores } from "../cache/cached-stores.ts";
import { lifetimesOf } from "../cache/extents.ts";
import type { Query } from "../planning/query.ts";
import { type StoreMiddleware, tracedReads } from "../../stores/read-middleware.ts";
import type { Stores } from "../../stores/store-set.ts";
import type { StartedSpan } from "../../tracing/tracer.ts";
import type { ClassBulkheads } from "./class-bulkheads.ts";
import { recordReads, type RecordedRead } from "./record-reads.ts";

/** The sources that the middleware of all queries shares. */
export interface MiddlewareSources {
  readonly stores: Stores;
  readonly cache: ReadCache;
  readonly bulkheads: ClassBulkheads;
  /** Shares equal reads among the queries of one bulk. @default the query shares no read */
  readonly share?: StoreMiddleware;
}

interface MiddlewareOptions {
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Set to record the reads, for the explanation of the response. */
  readonly explain: boolean;
  /** Span of the request. @default no spans */
  readonly span?: StartedSpan | undefined;
}

/** The stores as one query reads them. */
export interface QueryStores extends CachedStores {
  /** Reads that reached a store, in the order in which they ended; empty unless recorded. */
  readonly reads: readonly RecordedRead[];
}

/**
 * Wraps the stores for one query: cache → bulkhead → record → share → trace, the outermost first. A cache hit is no
 * read: it is not recorded and takes no place in a bulkhead. A background refresh passes the bulkhead only.
 */
export function queryStores(
  query: Query,
  { stores, cache, bulkheads, share = unchanged }: MiddlewareSources,
  { nowMs, explain, span }: MiddlewareOptions,
): QueryStores {
  const reads: RecordedRead[] = [];
  const bulkhead: StoreMiddleware = (inner) => bulkheads.of(query.quota.queryClass, inner);
  const record: StoreMiddleware = explain ? (inner) => recordReads(inner, reads) : unchanged;
  const trace: StoreMiddleware = (inner) => tracedReads(inner, span);
  const wrapped = [bulkhead, record, share, trace].reduceRight((inner, wrap) => wrap(inner), stores);
  const refreshed = bulkhead(stores);
  const cached = cachedStores(wrapped, cache, { lifetimes: lifetimesOf(query), nowMs, lasting: refreshed });
  return { ...cached, reads };
}

const unchanged: StoreMiddleware = (stores) => stores;
