// The cost of queries, before and after they run, and the quotas that are charged. It reads no store.
import type { ExpectedCache } from "../../../api/quotas.ts";
import { rankedSeriesMax } from "../../../api/queries.ts";
import type { QueryClass } from "../../../crds/config.ts";
import type { ApiError, Suggestion } from "../../errors/api-error.ts";
import { errorTable } from "../../errors/table.ts";
import type { Stores } from "../../stores/store.ts";
import { leftOf, resetSeconds } from "../admission/quotas.ts";
import type { Balance } from "../admission/token-source.ts";
import { cover, lifetimesOf } from "../cache/extents.ts";
import { extentKey } from "../cache/range-read.ts";
import type { ReadCache } from "../cache/read-cache.ts";
import { type Plan, type PlannedPart, plansOf } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import { printVector } from "../promql/promql.ts";
import type { Parameters } from "../request/parameters.ts";
import { formatDuration, formatTime } from "../request/time.ts";

/** A planned query. Members of a query that was rejected before it had a plan are undefined. */
interface PricedQuery {
  readonly plan: Plan | undefined;
  /** The class that pays for the query: of a rejected one, that of the named metrics. */
  readonly queryClass: QueryClass;
  /** Expected cost units. */
  readonly cost: number | undefined;
  readonly cache: ExpectedCache | null | undefined;
  /** The cost units of the class, after the charge of this request. */
  readonly budget: Balance | undefined;
  readonly error: ApiError | undefined;
  /** The parameters of a cheaper query that is admitted now. */
  readonly cheaper: Parameters | undefined;
}

/** The body of `GET /v1/metrics/plan`, without the expression. Unknown values are null. */
export function planBody({ plan, queryClass, cost, cache, budget, error, cheaper }: PricedQuery): object {
  return {
    allowed: error === undefined,
    class: queryClass,
    cost: cost ?? null,
    ...(plan === undefined ? unplanned : planMembers(plan)),
    cache: cache === undefined ? null : { expected: cache },
    budget: budget && budgetBody(budget),
    refusal: error === undefined ? null : errorBody(error, cheaper),
  };
}

const unplanned = {
  step_seconds: null,
  downsample: null,
  points: null,
  series_max: null,
  regions: [],
};

function planMembers(plan: Plan): object {
  const { query, grid } = plan;
  return {
    step_seconds: query.window.stepSeconds,
    downsample: query.window.downsample ?? null,
    points: grid.count,
    series_max: query.limit,
    regions: regionsOf(plan),
    ...comparedWindow(query),
    ...(query.ranking === undefined ? {} : { top: { ...query.ranking, candidates_max: rankedSeriesMax } }),
  };
}

/** The earlier window, which counts in the cost. */
function comparedWindow({ earlier, compareSeconds }: Query): object {
  if (earlier === undefined || compareSeconds === undefined) return {};
  const { fromMs, toMs } = earlier.window;
  return { compare: { shift: formatDuration(compareSeconds), from: formatTime(fromMs), to: formatTime(toMs) } };
}

/** The regions of a query, sorted, with the number of stores that it reads. */
function regionsOf({ parts }: Plan): readonly object[] {
  const stores = new Map(parts.map(({ store }) => [store.key, store.config.region]));
  return [...Map.groupBy(stores.values(), (region) => region)]
    .map(([region, own]) => ({ region, stores: own.length }))
    .sort((one, other) => (one.region < other.region ? -1 : 1));
}

function budgetBody(budget: Balance): object {
  return { remaining: leftOf(budget), limit: budget.charge.limits.burst, reset_seconds: resetSeconds(budget) };
}

function errorBody(error: ApiError, cheaper: Parameters | undefined): object {
  const { code, status, message, errors, suggestion, retryAfterSeconds } = error;
  return {
    code,
    status,
    title: errorTable[code].title,
    detail: message,
    errors,
    retry_after_seconds: retryAfterSeconds ?? null,
    suggestion: suggestion === undefined ? null : suggestionBody(suggestion, cheaper),
  };
}

function suggestionBody(suggestion: Suggestion, cheaper: Parameters | undefined): object {
  return { ...suggestion, ...(cheaper === undefined ? {} : { query: queryString(cheaper) }) };
}

function queryString(params: Parameters): string {
  return new URLSearchParams(
    [...params].flatMap(([name, values]) => values.map((value): [string, string] => [name, value])),
  ).toString();
}

interface CacheSources {
  readonly stores: Stores;
  readonly cache: Pick<ReadCache, "ranges">;
}

/**
 * Looks for the points of a plan in the memory of this pod. It asks neither a store nor another pod, and it rolls
 * nothing up. The source of the points can thus only be better than expected.
 *
 * @returns null for a class whose points are not cached
 */
export function expectedCache(plan: Plan, { stores, cache }: CacheSources, nowMs: number): ExpectedCache | null {
  const lifetimes = lifetimesOf(plan.query);
  if (lifetimes.settledMs === 0) return null;
  let [known, wanted] = [0, 0];
  for (const [own, part] of plansOf(plan).flatMap((one) => one.parts.map((each) => [one, each] as const))) {
    const key = keyOf(part, own, stores);
    const extents = key === undefined ? [] : cache.ranges.extents(key);
    for (const { grid } of part.splits) {
      wanted += grid.count;
      known += grid.count - (cover(extents, grid, lifetimes, nowMs).gap?.count ?? 0);
    }
  }
  if (known === 0) return "miss";
  return known === wanted ? "hit" : "partial";
}

/** The key of the extents of a part; undefined before the first response of its store. */
function keyOf({ ranges, store, tenant, metric }: PlannedPart, { query, grid }: Plan, stores: Stores) {
  const held = stores.get(store.key);
  const boundary = held.knownCapabilities()?.boundary;
  if (boundary === undefined) return undefined;
  const printed = ranges.map((range) => printVector(range, boundary));
  const isNative = metric.recipe.kind === "quantile" && metric.recipe.histogram === "Native";
  const text = printed.length > 1 ? JSON.stringify(printed) : (printed[0] ?? "");
  const kind = isNative ? "histograms" : printed.length > 1 ? "numbers together" : "numbers";
  const own = { ...grid, rangeMs: query.window.widthSeconds * 1_000 };
  return extentKey({ name: `${kind} of ${held.identity}` }, text, own, { tenant });
}
