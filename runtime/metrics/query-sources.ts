import type { TimeSlices } from "../../limits/time-slices.ts";
import type { AdmitQuery } from "./admission/admission.ts";
import type { Caller } from "./authorization/caller.ts";
import type { PointCounts } from "./cache/cache-status.ts";
import type { CachedQuery, ResponseCache } from "./response/cached-response.ts";
import type { FinishedMetrics } from "./reads/finish-metric.ts";
import type { PartOutcome } from "./reads/read-stores.ts";
import type { MiddlewareSources } from "./reads/store-middleware.ts";
import type { Again, RequestContext } from "./metrics-api.ts";
import type { QueryContext } from "./planning/query.ts";
import type { QueryRecord } from "./query-log/query-record.ts";
import type { Parameters } from "./request/parameters.ts";
import type { Snapshots } from "./response/snapshots.ts";

/** One query of one caller. */
export interface QueryRequest {
  readonly params: Parameters;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

/** The sources that handle a query. */
export interface QuerySources extends MiddlewareSources {
  readonly queryContext: QueryContext;
  /** Bound on all store reads of a query together. */
  readonly deadlineMs: number;
  /** Schedules the merging and writing of large responses. */
  readonly slices: TimeSlices;
  readonly finished: FinishedMetrics;
  readonly snapshots: Snapshots;
  readonly responses: ResponseCache;
  readonly admit: AdmitQuery;
  /** Counts the wanted points by their source. */
  readonly countPoints: (counts: PointCounts) => void;
  /** Records the shapes of queries. */
  readonly record: QueryRecord;
  /** Receives the outcome of each part. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
  /** Makes a cached response repeatable without parsing. @default a repeated query is handled like a new one */
  readonly remember?: (answered: CachedQuery) => Again;
}
