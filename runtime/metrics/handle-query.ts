// Handles one query, step by step. Selectors, which are queries too, share its sources and its read of a plan.
import { ApiError } from "../errors/api-error.ts";
import { type AdmitQueries, type AdmittedQueries, runAdmitted } from "./admission/admission.ts";
import { type Caller, explainScope } from "./authorization/access.ts";
import { explainResponse } from "./explain/explain.ts";
import type { AgeHeaders, MetricsResponse, RequestContext } from "./metrics-api.ts";
import { rejectSunset } from "./planning/catalog-entry.ts";
import { makePlan, type Plan, plansOf } from "./planning/plan.ts";
import { makeInstant, makeQuery, type Query, type QueryContext } from "./planning/query.ts";
import type { QueryRecord } from "./query-log/query-record.ts";
import { readWindows } from "./reads/compare-windows.ts";
import type { Result } from "./reads/run-plan.ts";
import {
  countsOfWindows,
  noReads,
  type PlanSources,
  type QueryReads,
  type QueryStores,
  readPlan,
  storesOf,
} from "./reads/store-middleware.ts";
import { type Parameters, readWord } from "./request/parameters.ts";
import {
  type CachedQuery,
  findResponse,
  type FoundResponse,
  keyed,
  type KeyedPlan,
  type MadeResponse,
  newResponseHeaders,
  pointsOf,
  type ResponseCache,
  shareResponse,
  storeResponse,
} from "./response/cached-response.ts";
import { instantResponse, pageOf, queryResponse } from "./response/query-response.ts";
import { cacheHeader, createServerTiming, describePlan, type ServerTiming } from "./response/response-headers.ts";
import { findSnapshot, readTimeOf, type Snapshots, takeSnapshot } from "./response/snapshots.ts";

/** One query of one caller. */
interface QueryRequest {
  readonly params: Parameters;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

/** The sources that handle a query. */
export interface QuerySources extends PlanSources {
  readonly queryContext: QueryContext;
  readonly snapshots: Snapshots;
  readonly responses: ResponseCache;
  readonly admit: AdmitQueries;
  /** Records the shapes of queries. */
  readonly record: QueryRecord;
  /** Makes a cached response repeatable without parsing. @default a repeated query is handled like a new one */
  readonly remember?: (cached: CachedQuery) => AgeHeaders;
}

/** The cached response to an equal query, whose points count as hits; undefined without one. */
export function findCounted(
  plan: KeyedPlan,
  nowMs: number,
  { responses, countPoints }: Pick<QuerySources, "responses" | "countPoints">,
): FoundResponse | undefined {
  const found = findResponse(responses, plan, nowMs);
  if (found !== undefined) countPoints(pointsOf(plan.plan));
  return found;
}

const routes = {
  query: { make: makeQuery, respond: queryResponse },
  instant: { make: makeInstant, respond: instantResponse },
} as const;

/** The routes of one query. */
export type QueryRoute = keyof typeof routes;

/** An admitted query. */
interface AdmittedRun extends QueryRequest {
  readonly route: QueryRoute;
  readonly sources: QuerySources;
  readonly timing: ServerTiming;
  readonly plan: Plan;
  readonly keyed: KeyedPlan;
  readonly admitted: AdmittedQueries;
  readonly explain: boolean;
}

type QueryRead = ReturnType<typeof takeSnapshot> & { readonly stores: readonly QueryStores[] };

/**
 * Handles one query, step by step: parse and authorize, plan, admit, cached, read and merge, respond. The work of each
 * step is in its room. Source: seed "Operational Metrics API" §4.1 and §4.3.
 *
 * @throws ApiError for an error of the caller and when all stores failed; the signal's reason
 */
export async function handleQuery(
  route: QueryRoute,
  request: QueryRequest,
  sources: QuerySources,
): Promise<MetricsResponse> {
  const timing = createServerTiming();
  timing.step("query");
  const { params, caller, context } = request;
  const { query, readAtMs, explain } = parseQuery(route, { params, caller, nowMs: context.nowMs }, sources);
  const plan = makePlan(query, readAtMs);
  const admitted = await sources.admit(plansOf(plan), caller);
  const run: AdmittedRun = { ...request, route, sources, timing, plan, keyed: keyed(route, plan), admitted, explain };
  return runAdmitted(admitted, async () => sharedResponse(run));
}

interface ParseSources extends Pick<QuerySources, "queryContext" | "snapshots"> {
  readonly record: Pick<QuerySources["record"], "add">;
}

interface ParsedQuery {
  readonly query: Query;
  /** Unix milliseconds for which the query is parsed. */
  readonly readAtMs: number;
  readonly explain: boolean;
}

/**
 * Parses the parameters and resolves them against the rights of the caller.
 *
 * @throws ApiError for an error of the caller
 */
export function parseQuery(
  route: QueryRoute,
  request: Pick<QueryRequest, "params" | "caller"> & { readonly nowMs: number },
  { queryContext, snapshots, record }: ParseSources,
): ParsedQuery {
  const { caller, nowMs } = request;
  const { params, explain } = takeExplain(request.params, caller);
  const readAtMs = readTimeOf(params, nowMs, snapshots);
  let query: Query | undefined;
  try {
    query = routes[route].make(params, caller, queryContext, readAtMs);
    const metrics = query.metrics.map(({ entry }) => entry.metric);
    rejectSunset(metrics, nowMs);
    return { query, readAtMs, explain };
  } finally {
    record.add({ route, params, caller, nowMs: readAtMs, query }, queryContext);
  }
}

/** The stored response to an equal query, unless it is too old for the class of this one. */
function cached({ plan, keyed: own, caller, context, admitted, explain, sources }: AdmittedRun) {
  const found = explain ? undefined : findCounted(own, context.nowMs, sources);
  if (found === undefined) return undefined;
  admitted.charge(plansOf(plan).map(() => noReads));
  return { ...found.response, revalidate: sources.remember?.({ plan, caller, found }) };
}

/** The response, which equal queries at the same time share. */
function sharedResponse(run: AdmittedRun): Promise<MetricsResponse> {
  const { sources, signal } = run;
  return shareResponse(sources.responses, {
    key: makingKey(run),
    signal,
    deadlineMs: sources.deadlineMs,
    find: () => cached(run),
    take: (made) => sharedOf(run, made),
    read: (deadlineMs) => readNew({ ...run, sources: { ...sources, deadlineMs } }),
  });
}

/** Everything that a response depends on, also one that is not stored; undefined for one that is not shared. */
function makingKey({ plan, keyed: { key }, caller, explain }: AdmittedRun): string | undefined {
  const { query } = plan;
  if (explain || query.snapshot !== undefined) return undefined;
  const own = [query.isCompleteRequired, caller.scopes.includes(explainScope), describePlan(plan)];
  return `${own.join(" ")} ${key}`;
}

/** A response of an equal query that is not stored. It costs this query no read. @throws the error of all stores */
function sharedOf({ plan, admitted, sources, timing }: AdmittedRun, made: NonNullable<MadeResponse>): MetricsResponse {
  admitted.charge(plansOf(plan).map(() => noReads));
  if ("error" in made) throw made.error;
  sources.countPoints(pointsOf(plan));
  timing.step("answer");
  return { ...made.response, headers: { ...made.response.headers, "Server-Timing": timing.header() } };
}

/** The response with the merged data: of a snapshot, or of the cache and the stores. */
async function readNew(run: AdmittedRun): Promise<MetricsResponse> {
  const { plan, context, admitted, sources, timing } = run;
  timing.step("stores");
  const reads: QueryReads[] = [];
  const readings = plansOf(plan).map((own, index) => {
    const reading = { ...run, noteReads: (noted: QueryReads): void => void (reads[index] = noted) };
    const ownStores = storesOf(own, reading);
    return { stores: ownStores, read: () => readPlan(own, ownStores, reading) };
  });
  const stores = readings.map((reading) => reading.stores);
  const found = findSnapshot(plan.query, context.nowMs, sources.snapshots);
  if (found !== undefined) {
    admitted.charge(readings.map(() => noReads));
    return respond(run, { ...found, stores });
  }
  const readOne = (_: Plan, index: number): Promise<Result> => (readings[index] as (typeof readings)[number]).read();
  const charge = (): void => void (reads.length > 0 && admitted.charge(readings.map((_, index) => reads[index])));
  const isAlone = plan.query.ranking === undefined && plan.query.earlier === undefined;
  const result = await (isAlone ? readOne(plan, 0) : readWindows(plan, readOne, sources.slices)).finally(charge);
  return respond(run, { ...takeSnapshot(result, plan.query, context.nowMs, sources.snapshots), stores });
}

/** The response, which is stored for equal queries. */
function respond(run: AdmittedRun, data: QueryRead) {
  const { route, plan, context, admitted, explain, sources, timing } = run;
  timing.step("answer");
  const counts = countsOfWindows(data.stores);
  const cache = cacheHeader(data.source, counts, plan);
  const made = routes[route].respond(plan, data.result, { snapshot: data.snapshot, slices: sources.slices, cache });
  const age = { nowMs: context.nowMs, oldest: counts.oldest, isStale: counts.stale > 0 };
  const own = { ...newResponseHeaders(plan, { ...age, response: made }), "Server-Timing": timing.header() };
  const response = { ...made, headers: { ...made.headers, ...own } };
  if (explain) return explainResponse(response, plan, { ...data, estimates: admitted.estimates });
  if (data.source === "store") {
    const series = pageOf(data.result, plan.query);
    storeResponse(sources.responses, run.keyed, { ...age, response, series });
  }
  return response;
}

/** Removes `explain`, which changes no data. @throws ApiError `invalid_request` for another word, `scope_missing` */
function takeExplain(params: Parameters, caller: Caller): { readonly params: Parameters; readonly explain: boolean } {
  const explain = readWord(params, "explain", ["true", "false"]) === "true";
  if (explain && !caller.scopes.includes(explainScope))
    throw new ApiError("scope_missing", `explain=true requires the scope ${explainScope}; use a token with this scope`);
  if (!params.has("explain")) return { params, explain };
  return { params: new Map([...params].filter(([name]) => name !== "explain")), explain };
}
