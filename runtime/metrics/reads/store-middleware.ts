import type { QueryClass } from "../../../crds/config.ts";
import type { TimeSlices } from "../../../limits/clock.ts";
import { Semaphore } from "../../../limits/fair-places.ts";
import {
  type AroundRead,
  aroundReads,
  type StoreMiddleware,
  type StoreRead,
  tracedReads,
} from "../../stores/read-middleware.ts";
import { StoreError } from "../../stores/store-error.ts";
import type { Stores } from "../../stores/store.ts";
import type { StartedSpan } from "../../tracing/tracer.ts";
import { type Caller, explainScope } from "../authorization/access.ts";
import { type CacheCounts, type CachedStores, cachedStores, computedShare } from "../cache/cached-stores.ts";
import { lifetimesOf } from "../cache/extents.ts";
import type { PointCounts, ReadCache } from "../cache/read-cache.ts";
import type { Plan } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import type { FinishedMetrics } from "./finish-metric.ts";
import type { PartOutcome } from "./read-part.ts";
import { type Result, runPlan } from "./run-plan.ts";

/** The sources that the middleware of all queries shares. */
export interface MiddlewareSources {
  readonly stores: Stores;
  readonly cache: ReadCache;
  readonly bulkheads: ClassBulkheads;
  /** Shares equal reads among the queries of one bulk. @default the query shares no read */
  readonly share?: StoreMiddleware;
}

/** The sources with which the data of a plan is read. */
export interface PlanSources extends MiddlewareSources {
  /** Bound on all store reads of a query together. */
  readonly deadlineMs: number;
  /** Schedules the merging and writing of large responses. */
  readonly slices: TimeSlices;
  readonly finished: FinishedMetrics;
  /** Counts the wanted points by their source. */
  readonly countPoints: (counts: PointCounts) => void;
  /** Receives the outcome of each part. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
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

/** The cached points of all windows of a query. The sources of points are those of its own window. */
export function countsOfWindows(stores: readonly QueryStores[]): CacheCounts {
  const [own, ...others] = stores.map((one) => one.counts());
  if (own === undefined) throw new Error("a query reads stores");
  return others.reduce(
    (sum, counts): CacheCounts => ({
      ...sum,
      hit: sum.hit + counts.hit,
      miss: sum.miss + counts.miss,
      shared: sum.shared + counts.shared,
      finer: sum.finer + counts.finer,
      stale: sum.stale + counts.stale,
      oldest: {
        settledMs: Math.min(sum.oldest.settledMs, counts.oldest.settledMs),
        tailMs: Math.min(sum.oldest.tailMs, counts.oldest.tailMs),
      },
    }),
    own,
  );
}

/**
 * Wraps the stores for one query: cache → bulkhead → record → share → trace, the outermost first. A cache hit is no
 * read: it is not recorded and takes no place in a bulkhead. A background refresh passes the bulkhead only.
 */
function queryStores(
  query: Query,
  { stores, cache, bulkheads, share = unchanged }: MiddlewareSources,
  { nowMs, explain, span }: MiddlewareOptions,
): QueryStores {
  const reads: RecordedRead[] = [];
  const bulkhead: StoreMiddleware = (inner) => bulkheads.of(query.quota.queryClass, inner);
  const record: StoreMiddleware = explain ? (inner) => recordReads(inner, reads) : unchanged;
  const trace: StoreMiddleware = span === undefined ? unchanged : (inner) => tracedReads(inner, span);
  const wrapped = [bulkhead, record, share, trace].reduceRight((inner, wrap) => wrap(inner), stores);
  const refreshed = bulkhead(stores);
  const cached = cachedStores(wrapped, cache, { lifetimes: lifetimesOf(query), nowMs, lasting: refreshed });
  return { ...cached, reads };
}

const unchanged: StoreMiddleware = (stores) => stores;

/**
 * Maximum concurrent requests of one class to one store. A store has sixteen connections: classes B and C together
 * leave some of them to class A. Source: seed "Operational Metrics API" §2.6.
 */
export const bulkheadSizes: Readonly<Record<QueryClass, number>> = { A: Number.POSITIVE_INFINITY, B: 7, C: 5 };

/** Limits the concurrent requests of each class to each store. */
export interface ClassBulkheads {
  /** Wraps the stores: each read waits in order of arrival until its class has a place. */
  of(queryClass: QueryClass, stores: Stores): Stores;
}

/** Creates empty bulkheads. */
export function createClassBulkheads(): ClassBulkheads {
  const bulkheads = new Map<string, Semaphore>();
  return {
    of(queryClass, stores) {
      const size = bulkheadSizes[queryClass];
      if (size === Number.POSITIVE_INFINITY) return stores;
      const around: AroundRead = async (read, send, { signal }) => {
        const name = `${queryClass} ${read.store}`;
        const bulkhead = bulkheads.get(name) ?? new Semaphore(size);
        bulkheads.set(name, bulkhead);
        await bulkhead.acquire(signal);
        try {
          return await send();
        } finally {
          bulkhead.release();
          if (bulkhead.isIdle) bulkheads.delete(name);
        }
      };
      return aroundReads(stores, around);
    },
  };
}

/** A read with its outcome. */
export interface RecordedRead extends StoreRead {
  readonly durationMs: number;
  /** `ok`, the kind of the store's failure, or `left` for an aborted read. */
  readonly outcome: string;
  readonly series: number;
  /** Message of the store for a query that it rejected. */
  readonly error?: string;
}

/** Wraps the stores: each read is added to `reads` when it ends. */
function recordReads(stores: Stores, reads: RecordedRead[]): Stores {
  const around: AroundRead = async (read, send) => {
    const startMs = performance.now();
    const note = (outcome: string, series: number, error?: string): void => {
      reads.push({
        ...read,
        durationMs: performance.now() - startMs,
        outcome,
        series,
        ...(error === undefined ? {} : { error }),
      });
    };
    try {
      const result = await send();
      note("ok", seriesIn(result));
      return result;
    } catch (error) {
      if (!(error instanceof StoreError)) note("left", 0);
      else note(error.kind, 0, error.kind === "refused" ? error.message : undefined);
      throw error;
    }
  };
  return aroundReads(stores, around);
}

/** The time of the newest sample is the one series of its read; undefined is none. */
function seriesIn(result: unknown): number {
  if (typeof result === "number") return 1;
  const series: unknown = Array.isArray(result)
    ? result
    : (result as { readonly series?: unknown } | undefined)?.series;
  return Array.isArray(series) ? series.length : 0;
}

/** The reads of one query. */
export interface QueryReads {
  readonly outcomes: readonly PartOutcome[];
  /** Of its points, those that were not cached. */
  readonly share: number;
}

/** The reads of a query whose response was cached. */
export const noReads: QueryReads = { outcomes: [], share: 0 };

interface PlanReading {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: Pick<MiddlewareOptions, "nowMs" | "span"> & { readonly correlationId: string };
  readonly sources: PlanSources;
  /** Records the reads of stores. */
  readonly explain: boolean;
  /** Receives the reads before their outcomes are observed, also of a query that is then rejected. */
  readonly noteReads: (reads: QueryReads) => void;
}

/** The stores of one query, through which every read of it is sent, cached and counted. */
export function storesOf(plan: Plan, { context, sources, explain }: PlanReading): QueryStores {
  return queryStores(plan.query, sources, { nowMs: context.nowMs, explain, span: context.span });
}

/** Reads and merges the data of one plan. @throws ApiError as {@link runPlan} does; the signal's reason */
export async function readPlan(plan: Plan, stores: QueryStores, reading: PlanReading): Promise<Result> {
  const { caller, signal, context, sources, noteReads } = reading;
  const { deadlineMs, slices, finished, countPoints } = sources;
  const observe: PlanSources["observe"] = (outcomes) => {
    noteReads({ outcomes, share: computedShare(stores.counts()) });
    sources.observe(outcomes);
  };
  const showsMessages = caller.scopes.includes(explainScope);
  const { nowMs, correlationId } = context;
  const options = { nowMs, correlationId, deadlineMs, slices, finished, signal, showsMessages, observe };
  const result = await runPlan(plan, stores.stores, options);
  countPoints(stores.counts());
  return result;
}
