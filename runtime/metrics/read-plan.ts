// What handlers of queries share: their sources, the cached response to an equal query, and the read of one plan.
import type { TimeSlices } from "../../limits/time-slices.ts";
import type { AdmitQueries, QueryReads } from "./admission/admission.ts";
import { type Caller, explainScope } from "./authorization/caller.ts";
import type { PointCounts } from "./cache/cache-status.ts";
import { computedShare } from "./cache/cached-stores.ts";
import {
  type CachedQuery,
  findResponse,
  type FoundResponse,
  pointsOf,
  type ResponseCache,
} from "./response/cached-response.ts";
import type { FinishedMetrics } from "./reads/finish-metric.ts";
import type { PartOutcome } from "./reads/read-stores.ts";
import { type Result, runPlan } from "./reads/run-plan.ts";
import { type MiddlewareSources, queryStores, type QueryStores } from "./reads/store-middleware.ts";
import type { Again, RequestContext } from "./metrics-api.ts";
import type { Plan } from "./planning/plan.ts";
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
  readonly admit: AdmitQueries;
  /** Counts the wanted points by their source. */
  readonly countPoints: (counts: PointCounts) => void;
  /** Records the shapes of queries. */
  readonly record: QueryRecord;
  /** Receives the outcome of each part. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
  /** Makes a cached response repeatable without parsing. @default a repeated query is handled like a new one */
  readonly remember?: (answered: CachedQuery) => Again;
}

/** The cached response to an equal query, whose points count as hits; undefined without one. */
export function findCounted(
  route: string,
  plan: Plan,
  nowMs: number,
  { responses, countPoints }: Pick<QuerySources, "responses" | "countPoints">,
): FoundResponse | undefined {
  const found = findResponse(responses, route, plan, nowMs);
  if (found !== undefined) countPoints(pointsOf(plan));
  return found;
}

interface PlanReading extends Omit<QueryRequest, "params"> {
  readonly sources: QuerySources;
  /** Records the reads of stores. */
  readonly explain: boolean;
  /** Receives the reads before their outcomes are observed, also of a query that is then refused. */
  readonly noteReads: (reads: QueryReads) => void;
}

/** The stores of one query, through which every read of it is sent, cached and counted. */
export function storesOf(plan: Plan, { context, sources, explain }: PlanReading): QueryStores {
  return queryStores(plan.query, sources, { nowMs: context.nowMs, explain, span: context.span });
}

/** Reads and merges the data of one plan. @throws Refusal as {@link runPlan} does; the signal's reason */
export async function readPlan(plan: Plan, stores: QueryStores, reading: PlanReading): Promise<Result> {
  const { caller, signal, context, sources, noteReads } = reading;
  const { deadlineMs, slices, finished, countPoints } = sources;
  const observe: QuerySources["observe"] = (outcomes) => {
    noteReads({ outcomes, share: computedShare(stores.counts()) });
    sources.observe(outcomes);
  };
  const showsRefusals = caller.scopes.includes(explainScope);
  const options = { ...context, deadlineMs, slices, finished, signal, showsRefusals, observe };
  const result = await runPlan(plan, stores.stores, options);
  countPoints(stores.counts());
  return result;
}
