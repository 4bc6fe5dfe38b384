import type { QueryClass } from "../../../crds/config.ts";
import type { Refusal, Suggestion } from "../../errors/refusal.ts";
import { errorTable } from "../../errors/table.ts";
import { leftOf, resetSeconds, type Balance } from "../admission/rate-headers.ts";
import type { Plan } from "../planning/plan.ts";
import type { Parameters } from "../request/parameters.ts";
import type { ExpectedCache } from "./expected-cache.ts";

/** A planned query. Members of a query that was refused before it had a plan are undefined. */
interface PricedQuery {
  readonly plan: Plan | undefined;
  /** The class that pays for the query: of a rejected one, that of the named metrics. */
  readonly queryClass: QueryClass;
  /** Expected cost units. */
  readonly cost: number | undefined;
  readonly cache: ExpectedCache | null | undefined;
  /** The cost units of the class, after the charge of this request. */
  readonly budget: Balance | undefined;
  readonly refusal: Refusal | undefined;
  /** The parameters of a cheaper query that is admitted now. */
  readonly cheaper: Parameters | undefined;
}

/** The body of `GET /v1/metrics/plan`, without the expression. Unknown values are null. */
export function planBody({ plan, queryClass, cost, cache, budget, refusal, cheaper }: PricedQuery): object {
  return {
    allowed: refusal === undefined,
    class: queryClass,
    cost: cost ?? null,
    ...(plan === undefined ? unplanned : planMembers(plan)),
    cache: cache === undefined ? null : { expected: cache },
    budget: budget && budgetBody(budget),
    refusal: refusal === undefined ? null : refusalBody(refusal, cheaper),
  };
}

const unplanned = {
  step_seconds: null,
  downsample: null,
  points: null,
  series_max: null,
  regions: [],
};

function planMembers(plan: Plan): Record<keyof typeof unplanned, unknown> {
  const { query, grid } = plan;
  return {
    step_seconds: query.window.stepSeconds,
    downsample: query.window.downsample ?? null,
    points: grid.count,
    series_max: query.limit,
    regions: regionsOf(plan),
  };
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

function refusalBody(refusal: Refusal, cheaper: Parameters | undefined): object {
  const { code, status, message, errors, suggestion, retryAfterSeconds } = refusal;
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
