// The plan and the cost of a query that is not run.
import type { ExpectedCache } from "../../../api/quotas.ts";
import { ApiError } from "../../errors/api-error.ts";
import { resultOrError } from "../../errors/result-or-error.ts";
import type { Admission } from "../admission/admission.ts";
import type { Balance } from "../admission/token-source.ts";
import { accessOf, type Caller, classOf, type QueryClassGrant } from "../authorization/access.ts";
import { mayRead } from "../authorization/policy.ts";
import { expectedCache, planBody } from "../explain/plan-body.ts";
import { parseQuery, type QuerySources } from "../handle-query.ts";
import type { PlannedQuery } from "../metrics-api.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import type { Query, QueryContext } from "../planning/query.ts";
import { makeSelectorQueries, type SelectorQuery } from "../planning/selector-query.ts";
import type { Parameters } from "../request/parameters.ts";
import { readSpan } from "../request/read-query.ts";
import type { MetricSelector, SelectorsRequest } from "../request/selector.ts";
import { endAt, formatTime, timeAt } from "../request/time.ts";
import { firstPointMs, pointCount } from "../request/window.ts";
import { findResponse, keyed } from "../response/cached-response.ts";
import { noStore } from "../response/response-headers.ts";
import { identityOf } from "../response/snapshots.ts";

interface PlanRequest {
  readonly params: Parameters;
  readonly caller: Caller;
  /** Unix milliseconds of the request. */
  readonly nowMs: number;
}

interface PlanSources extends Pick<QuerySources, "queryContext" | "snapshots" | "responses" | "stores" | "cache"> {
  readonly admission: Pick<Admission, "decide" | "chargeRequest" | "state">;
}

/** A query that has a plan, or its rejection. */
type Parsed =
  | { readonly plan: Plan; readonly error?: undefined }
  | { readonly plan?: undefined; readonly error: ApiError };

/**
 * Plans and prices the query of `GET /v1/metrics/query` and stops before its first read. It charges one request token
 * and no cost units, and decides on the query after that charge. The query is not recorded.
 *
 * @throws ApiError `rate_exceeded` when the client has no request token left
 */
export async function handlePlan(request: PlanRequest, sources: PlanSources): Promise<PlannedQuery> {
  const { caller, nowMs } = request;
  const { admission, queryContext } = sources;
  const { plan, error: invalid } = parse(request, sources);
  const grant = plan?.query.quota ?? classOf(caller, namedMetrics(request, sources), queryContext.quotas);
  const charged = await admission.chargeRequest(caller, grant);
  const decision = plan && (await admission.decide(plan, caller));
  const error = invalid ?? decision?.error;
  const body = planBody({
    plan,
    queryClass: grant.queryClass,
    cost: decision?.estimate,
    cache: plan && cacheOf(plan, sources, nowMs),
    budget: await budgetOf(caller, grant, admission),
    error,
    cheaper: error && (await cheaperQuery(error, request, sources)),
  });
  const selector = plan && selectorOfQuery(plan.query, { caller, queryContext, nowMs });
  return { status: 200, headers: { ...charged.headers(), ...noStore }, body, selector };
}

/** The named metrics that the caller may read. They determine the class of a query that has no plan. */
function namedMetrics({ params, caller }: PlanRequest, { queryContext: { catalog, quotas } }: PlanSources) {
  const access = accessOf(caller, quotas);
  return (params.get("metric") ?? []).flatMap((id) => {
    const entry = catalog.get(id);
    return entry !== undefined && mayRead(entry, caller, access) ? [entry.metric] : [];
  });
}

/** The cost units of a class, after the charge of the plan. */
async function budgetOf(
  caller: Caller,
  grant: QueryClassGrant,
  { state }: PlanSources["admission"],
): Promise<Balance | undefined> {
  const { balances } = await state(caller, grant, []);
  return balances.find(({ charge }) => charge.unit === "cost");
}

const unrecorded = { add: () => undefined };

function parse(request: PlanRequest, { queryContext, snapshots }: PlanSources): Parsed {
  const sources = { queryContext, snapshots, record: unrecorded };
  const parsed = resultOrError(() => parseQuery("query", request, sources), ApiError);
  return parsed instanceof ApiError ? { error: parsed } : { plan: makePlan(parsed.query, parsed.readAtMs) };
}

function cacheOf(plan: Plan, sources: PlanSources, nowMs: number): ExpectedCache | null {
  return findResponse(sources.responses, keyed("query", plan), nowMs) === undefined
    ? expectedCache(plan, sources, nowMs)
    : "hit";
}

/** The parameters with the suggested step, if a query with them is admitted now. */
async function cheaperQuery(
  { suggestion }: ApiError,
  request: PlanRequest,
  sources: PlanSources,
): Promise<Parameters | undefined> {
  const step = suggestion?.step;
  if (step === undefined) return undefined;
  const params = absoluteTimes(new Map([...request.params, ["step", [step]] as const]), request.nowMs);
  const { plan } = parse({ ...request, params }, sources);
  if (plan === undefined) return undefined;
  const { error } = await sources.admission.decide(plan, request.caller);
  return error === undefined ? params : undefined;
}

/** The parameters with their relative times at the time of the request. They are valid. */
function absoluteTimes(params: Parameters, nowMs: number): Parameters {
  const { from, to } = readSpan(params);
  const times = [
    ...(from === undefined ? [] : [["from", [formatTime(timeAt(from, nowMs))]] as const]),
    ...(to === undefined ? [] : [["to", [formatTime(endAt(to, nowMs))]] as const]),
  ];
  return new Map([...[...params].filter(([name]) => name !== "last"), ...times]);
}

interface SelectorSources {
  readonly caller: Caller;
  readonly queryContext: QueryContext;
  /** Unix milliseconds of the request. */
  readonly nowMs: number;
}

/**
 * The one selector that reads the same points as a query, at the times of its points. Undefined if an expression
 * cannot say the query: several metrics, exemplars, a later page, a snapshot, a ranking, a comparison, or points off
 * the grid of selectors.
 */
function selectorOfQuery(query: Query, sources: SelectorSources): MetricSelector | undefined {
  const [metric, ...others] = query.metrics;
  const isCompared = query.ranking !== undefined || query.earlier !== undefined;
  const isOdd = isCompared || query.exemplars || query.page > 1 || query.snapshot !== undefined;
  if (metric === undefined || others.length > 0 || isOdd) return undefined;
  const selector: MetricSelector = {
    metric: metric.entry.metric.id,
    measure: { kind: "aggregation", aggregation: metric.aggregation },
    filters: query.filters,
    groupBy: query.groupBy,
    widthSeconds: query.window.widthSeconds,
  };
  const made = queryOfSelector(selector, query, sources);
  return made !== undefined && readsSame(made, query) ? selector : undefined;
}

function queryOfSelector(
  selector: MetricSelector,
  { window }: Query,
  { caller, queryContext, nowMs }: SelectorSources,
): SelectorQuery | undefined {
  const times = { startMs: firstPointMs(window), endMs: window.toMs, stepMs: window.stepSeconds * 1_000 };
  const request: SelectorsRequest = { selectors: [selector], times, tenant: undefined, isCompleteRequired: false };
  const made = resultOrError(() => makeSelectorQueries(request, caller, queryContext, nowMs), ApiError);
  return made instanceof ApiError ? undefined : made[0];
}

/** Compares the identities of both queries. The downsample is left out: the points themselves have its width. */
function readsSame({ query: own, places }: SelectorQuery, query: Query): boolean {
  const isWhole = places.length === pointCount(query.window) && places.every((place, stamp) => place === stamp);
  return isWhole && identityOf(plain(own)) === identityOf(plain(query));
}

function plain(query: Query): Query {
  return { ...query, window: { ...query.window, downsample: undefined } };
}
