import type { Aggregation, ClassLimits, LabelName, MetricConfig, RuntimeConfig } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import { traitsOf } from "../../stores/prometheus/prometheus-client.ts";
import {
  accessOf,
  type Caller,
  classOf,
  publicReadScope,
  type QueryClassGrant,
  readScope,
} from "../authorization/access.ts";
import { type Grant, grant, type GrantedMetric, requireMatches, requireReadScope } from "../authorization/policy.ts";
import type { CatalogIndex } from "../catalog-index.ts";
import { recipeOf } from "../promql/recipe-of.ts";
import type { Recipe } from "../promql/recipe.ts";
import { type Filters, type Parameters, queryLimits } from "../request/parameters.ts";
import { readInstant, readQuery, type Selection, withFieldsOf } from "../request/read-query.ts";
import type { Measure } from "../request/selector.ts";
import { type Comparison, earlierWindow } from "../request/read-comparison.ts";
import { timeAt, windowAt as timesAt } from "../request/time.ts";
import {
  publicStepSecondsMin,
  type ResolvedWindow,
  resolveInstant,
  resolveWindow,
  stepSecondsMin,
} from "../request/window.ts";
import { catalogEntry, namesFor, readableIds, requireLabels, schemaVersionOf } from "./catalog-entry.ts";

/** One metric of a query with everything that its data depends on. */
export interface QueriedMetric extends GrantedMetric, Measured {
  readonly recipe: Recipe;
  /** The objective whose events are counted. @default none, the query reads the metric */
  readonly slo?: string;
}

/**
 * A request in its closed, canonical form: lists sorted, defaults filled in, rights applied. Nothing else determines
 * what is read, so that requests with equal queries read equal data.
 */
export interface Query extends Pick<Grant, "tenant" | "environments" | "regions">, Comparison {
  readonly metrics: readonly QueriedMetric[];
  readonly filters: Filters;
  readonly groupBy: readonly LabelName[];
  readonly window: ResolvedWindow;
  /** The window of the same request at another time, in Unix milliseconds. @throws ApiError when it is invalid then */
  readonly windowAt: (nowMs: number) => ResolvedWindow;
  readonly exemplars: boolean;
  /** The end of the exemplars, in Unix milliseconds: they do not wait for a whole point. @default that of the window */
  readonly exemplarsToMs?: number;
  /** Makes a response with missing data an error. */
  readonly isCompleteRequired: boolean;
  readonly limit: number;
  readonly page: number;
  /** The snapshot that the page must be cut from; undefined for current data. */
  readonly snapshot: string | undefined;
  readonly schemaVersion: string;
  /** The query over the earlier window that this one is compared with. @default none */
  readonly earlier?: Query | undefined;
  /** The query class with its limits; the data does not depend on it. */
  readonly quota: QueryClassGrant;
}

/** The catalog and the quotas that a query is resolved against. */
export interface QueryContext {
  readonly catalog: CatalogIndex;
  readonly quotas: Pick<RuntimeConfig, "quotas" | "classDefaults">;
}

/** Builds the query of `GET /v1/metrics/query`. @throws ApiError as seed "Operational Metrics API" §4.7 lists */
export function makeQuery(params: Parameters, caller: Caller, queryContext: QueryContext, nowMs: number): Query {
  const { selection, window } = readQuery(params, namesFor(caller, queryContext));
  const query = resolve(
    { params, selection, caller, nowMs },
    queryContext,
    (minimum, limits) => (atMs) =>
      resolveWindow(timesAt(window, atMs), selection.downsample, { nowMs: atMs, stepSecondsMin: minimum, limits }),
  );
  const made = { ...query, ...earlierQuery(query) };
  return made.exemplars ? { ...made, exemplarsToMs: Math.min(timesAt(window, nowMs).toMs ?? nowMs, nowMs) } : made;
}

/** The same query over the window that it is compared with. @throws ApiError `invalid_compare` */
function earlierQuery(query: Query): Pick<Query, "earlier"> {
  const { compareSeconds, windowAt } = query;
  if (compareSeconds === undefined) return {};
  const earlier = {
    window: earlierWindow(query.window, compareSeconds),
    windowAt: (nowMs: number) => earlierWindow(windowAt(nowMs), compareSeconds),
  };
  return { earlier: { ...query, ...earlier, exemplars: false, compareSeconds: undefined } };
}

/** Builds the query of `GET /v1/metrics/instant`, with a window of one point. @throws ApiError as {@link makeQuery} */
export function makeInstant(params: Parameters, caller: Caller, queryContext: QueryContext, nowMs: number): Query {
  const { selection, ts } = readInstant(params, namesFor(caller, queryContext));
  return resolve(
    { params, selection, caller, nowMs },
    queryContext,
    (minimum) => (atMs) =>
      resolveInstant(ts && timeAt(ts, atMs), selection.downsample, { nowMs: atMs, stepSecondsMin: minimum }),
  );
}

type ChooseWindow = (stepSecondsMinimum: number, limits: ClassLimits) => Query["windowAt"];

interface Resolving {
  readonly params: Parameters;
  readonly selection: Selection;
  readonly caller: Caller;
  readonly nowMs: number;
}

/** Resolves a request. Its errors name filters as its parameters do. */
function resolve(resolving: Resolving, queryContext: QueryContext, chooseWindow: ChooseWindow): Query {
  try {
    return resolved(resolving, queryContext, chooseWindow);
  } catch (error) {
    throw withFieldsOf(resolving.params, error);
  }
}

function resolved(
  { selection, caller, nowMs }: Resolving,
  queryContext: QueryContext,
  chooseWindow: ChooseWindow,
): Query {
  requireReadScope(caller);
  const access = accessOf(caller, queryContext.quotas);
  const { catalog } = queryContext;
  const entries = selection.metrics.map((id) =>
    catalogEntry(id, catalog, () => readableIds(catalog, caller, access, nowMs)),
  );
  const granted = grant(entries, selection.filters, caller, access);
  requireMatches(granted.metrics, selection.filters);
  const configs = entries.map(({ metric }) => metric);
  const quota = classOf(caller, configs, queryContext.quotas);
  const { limits } = quota;
  requireLabels(selection, configs, limits.maxGroupBy);
  const windowAt = chooseWindow(smallestStep(caller, configs, limits), limits);
  return {
    tenant: granted.tenant,
    environments: granted.environments,
    regions: granted.regions,
    metrics: granted.metrics.map((metric) => queriedMetric(metric, selection.aggregation)),
    filters: selection.filters,
    groupBy: selection.groupBy,
    window: windowAt(nowMs),
    windowAt,
    exemplars: selection.exemplars,
    isCompleteRequired: selection.isCompleteRequired,
    limit: limitOf(selection.limit, Math.min(queryLimits.seriesMax, limits.maxSeries)),
    page: selection.page,
    snapshot: selection.snapshot,
    schemaVersion: schemaVersionOf(entries, selection.schemaVersion),
    ranking: selection.ranking,
    compareSeconds: selection.compareSeconds,
    quota,
  };
}

type OwnQuery = Pick<Query, "metrics" | "filters" | "groupBy" | "window" | "exemplars" | "schemaVersion" | "quota">;

/** Builds a query that this runtime makes by itself: one fixed window, one page, no pinned snapshot. */
export function ownQuery({ tenant, environments, regions }: Grant, parts: OwnQuery): Query {
  return {
    tenant,
    environments,
    regions,
    ...parts,
    windowAt: () => parts.window,
    isCompleteRequired: false,
    limit: 1,
    page: 1,
    snapshot: undefined,
  };
}

/** Builds one metric of a query. @throws ApiError `invalid_aggregation`, `incompatible_increases` */
export function queriedMetric(granted: GrantedMetric, requested: Aggregation | undefined): QueriedMetric {
  const { metric } = granted.entry;
  const aggregation = requested ?? metric.defaultAggregation;
  if (!metric.aggregations.includes(aggregation)) {
    const valid = metric.aggregations.join(", ");
    throw invalidField(
      "invalid_aggregation",
      "agg",
      `${metric.id} has no aggregation ${aggregation}; use one of ${valid}`,
    );
  }
  const recipe = recipeOf(metric, aggregation);
  requireOneRule(granted, recipe);
  return { ...granted, aggregation, recipe };
}

/**
 * Requires that all stores compute increases by one rule, since increases by different rules cannot be added.
 *
 * @throws ApiError `incompatible_increases`
 */
export function requireOneRule({ entry, stores }: GrantedMetric, { needs }: Recipe): void {
  const rules = new Set(stores.map(({ config: store }) => traitsOf(store).increases));
  if (!needs.increases || rules.size === 1) return;
  const { id } = entry.metric;
  const detail = `the stores of ${id} compute increases by different rules; select one region with filter[region]`;
  throw invalidField("incompatible_increases", "filter[region]", detail);
}

/** The smallest step that a caller may request of metrics, in seconds. */
export function smallestStep(caller: Caller, metrics: readonly MetricConfig[], limits: ClassLimits): number {
  const { scopes } = caller;
  // Source: seed "Operational Metrics API" §8.
  const isOnlyPublic = scopes.includes(publicReadScope) && !scopes.includes(readScope);
  const callerMinimum = isOnlyPublic ? publicStepSecondsMin : stepSecondsMin;
  return Math.max(callerMinimum, limits.minStepSeconds, ...metrics.map((metric) => metric.minStepSeconds));
}

function limitOf(requested: number | undefined, most: number): number {
  if (requested === undefined || requested <= most) return requested ?? most;
  throw invalidField(
    "invalid_limit",
    "limit",
    `limit=${requested} is too large for this caller's class; use at most ${most}`,
  );
}

/** The measures that are no aggregations: the number of events, and a share of them. */
export type EventsMeasure = Exclude<Measure, { readonly kind: "aggregation" }>;

/** What is computed of a metric. */
interface Measured {
  readonly aggregation: Aggregation;
  /** What is computed in place of the aggregation, from partials of it. @default the aggregation itself */
  readonly measure?: EventsMeasure;
}

/** Names what is computed of a metric; equal for equal measures of one metric only. */
export function measureName({ aggregation, measure }: Measured): string {
  if (measure === undefined) return aggregation;
  return measure.kind === "count" ? "count" : `fraction ${measure.threshold}`;
}
