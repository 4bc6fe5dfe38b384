import { type AdmittedQueries, noReads, type QueryReads, runAdmitted } from "../admission/admission.ts";
import { refuseSunset } from "../catalog-index.ts";
import { explainResponse, takeExplain } from "../explain/explain.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { makeInstant, makeQuery, type Query } from "../planning/query.ts";
import { findCounted, type QueryRequest, type QuerySources, readPlan, storesOf } from "../read-plan.ts";
import { newResponseHeaders, storeResponse } from "../response/cached-response.ts";
import { withoutInfinite } from "../response/query-json.ts";
import { instantResponse, pageOf, queryResponse } from "../response/query-response.ts";
import { cacheHeader, createServerTiming, type ServerTiming } from "../response/response-headers.ts";
import { findSnapshot, readTimeOf, takeSnapshot } from "../response/snapshots.ts";

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
  readonly admitted: AdmittedQueries;
  readonly explain: boolean;
}

type QueryRead = Awaited<ReturnType<typeof read>>;

/**
 * Handles one query, step by step: parse and authorize, plan, admit, cached, read and merge, respond. The work of each
 * step is in its room. Source: seed "Operational Metrics API" §4.1 and §4.3.
 *
 * @throws Refusal for an error of the caller and when all stores failed; the signal's reason
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
  const admitted = await sources.admit([plan], caller);
  const run: AdmittedRun = { ...request, route, sources, timing, plan, admitted, explain };
  return runAdmitted(admitted, async () => cached(run) ?? respond(run, await read(run)));
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
 * @throws Refusal for an error of the caller
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
    refuseSunset(metrics, nowMs);
    return { query, readAtMs, explain };
  } finally {
    record.add({ route, params, caller, nowMs: readAtMs, query }, queryContext);
  }
}

/** The stored response to an equal query, unless it is too old for the class of this one. */
function cached({ route, plan, caller, context, admitted, explain, sources }: AdmittedRun) {
  const found = explain ? undefined : findCounted(route, plan, context.nowMs, sources);
  if (found === undefined) return undefined;
  admitted.charge([noReads]);
  return { ...found.response, again: sources.remember?.({ plan, caller, found }) };
}

/** The merged data: of a snapshot, or of the cache and the stores. */
async function read(run: AdmittedRun) {
  const { plan, context, admitted, sources, timing } = run;
  timing.step("stores");
  const reading = { ...run, noteReads: (reads: QueryReads) => admitted.charge([reads]) };
  const stores = storesOf(plan, reading);
  const found = findSnapshot(plan.query, context.nowMs, sources.snapshots);
  if (found !== undefined) {
    admitted.charge([noReads]);
    return { ...found, stores };
  }
  const result = withoutInfinite(await readPlan(plan, stores, reading));
  return { ...takeSnapshot(result, plan.query, context.nowMs, sources.snapshots), stores };
}

/** The response, which is stored for equal queries. */
function respond({ route, plan, context, admitted, explain, sources, timing }: AdmittedRun, data: QueryRead) {
  timing.step("answer");
  const counts = data.stores.counts();
  const cache = cacheHeader(data.source, counts, plan);
  const made = routes[route].respond(plan, data.result, { snapshot: data.snapshot, slices: sources.slices, cache });
  const age = { nowMs: context.nowMs, oldest: counts.oldest, isStale: counts.stale > 0 };
  const own = { ...newResponseHeaders(plan, { ...age, response: made }), "Server-Timing": timing.header() };
  const response = { ...made, headers: { ...made.headers, ...own } };
  if (explain) return explainResponse(response, plan, { ...data, costEstimate: admitted.estimates[0] ?? 0 });
  if (data.source === "store") {
    const series = pageOf(data.result, plan.query);
    storeResponse(sources.responses, route, plan, { ...age, response, series });
  }
  return response;
}
