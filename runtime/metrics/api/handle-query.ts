import { Refusal } from "../../errors/refusal.ts";
import type { AdmittedQuery } from "../admission/admission.ts";
import { explainScope } from "../authorization/caller.ts";
import { computedShare } from "../cache/cached-stores.ts";
import { refuseSunset } from "../catalog-index.ts";
import { explainResponse, takeExplain } from "../explain/explain.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { makeInstant, makeQuery, type Query } from "../planning/query.ts";
import type { QueryRequest, QuerySources } from "../query-sources.ts";
import { runPlan } from "../reads/run-plan.ts";
import { queryStores } from "../reads/store-middleware.ts";
import { findResponse, newResponseHeaders, pointsOf, storeResponse } from "../response/cached-response.ts";
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
  readonly admitted: AdmittedQuery;
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
  const admitted = await sources.admit(plan, caller);
  const run: AdmittedRun = { ...request, route, sources, timing, plan, admitted, explain };
  try {
    const { headers, ...response } = cached(run) ?? respond(run, await read(run));
    return { ...response, headers: { ...headers, ...admitted.headers() } };
  } catch (error) {
    throw error instanceof Refusal ? error.with(admitted.headers()) : error;
  } finally {
    admitted.end();
  }
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
  const found = explain ? undefined : findResponse(sources.responses, route, plan, context.nowMs);
  if (found === undefined) return undefined;
  admitted.charge([], 0);
  sources.countPoints(pointsOf(plan));
  return { ...found.response, again: sources.remember?.({ plan, caller, found }) };
}

/** The merged data: of a snapshot, or of the cache and the stores. */
async function read({ plan, caller, signal, context, admitted, explain, sources, timing }: AdmittedRun) {
  timing.step("stores");
  const { deadlineMs, slices, finished, snapshots } = sources;
  const stores = queryStores(plan.query, sources, { nowMs: context.nowMs, explain, span: context.span });
  const found = findSnapshot(plan.query, context.nowMs, snapshots);
  if (found !== undefined) {
    admitted.charge([], 0);
    return { ...found, stores };
  }
  const observe: QuerySources["observe"] = (outcomes) => {
    admitted.charge(outcomes, computedShare(stores.counts()));
    sources.observe(outcomes);
  };
  const showsRefusals = caller.scopes.includes(explainScope);
  const options = { ...context, deadlineMs, slices, finished, signal, showsRefusals, observe };
  const result = withoutInfinite(await runPlan(plan, stores.stores, options));
  const data = takeSnapshot(result, plan.query, context.nowMs, snapshots);
  sources.countPoints(stores.counts());
  return { ...data, stores };
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
  if (explain) return explainResponse(response, plan, { ...data, costEstimate: admitted.estimate });
  if (data.source === "store") {
    const series = pageOf(data.result, plan.query);
    storeResponse(sources.responses, route, plan, { ...age, response, series });
  }
  return response;
}
