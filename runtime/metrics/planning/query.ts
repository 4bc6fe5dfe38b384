import type { Aggregation, ClassLimits, LabelName, MetricConfig, RuntimeConfig } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import { accessOf, classOf, type QueryClassGrant } from "../authorization/access.ts";
import { isPublic, type Caller } from "../authorization/caller.ts";
import type { CatalogIndex, MetricEntry } from "../catalog/catalog-index.ts";
import { isolationLabels } from "./labels.ts";
import type { Measured } from "./measure-name.ts";
import type { Recipe } from "../promql/kinds/recipe.ts";
import { recipeOf } from "../promql/kinds/recipe-of.ts";
import {
  filterTextMax,
  type Filters,
  type Parameters,
  readInstant,
  readQuery,
  seriesMax,
  shown,
  type Selection,
} from "../request/parameters.ts";
import { grant, requireReadScope, type Grant, type GrantedMetric } from "../authorization/policy.ts";
import {
  publicStepSecondsMin,
  resolveInstant,
  resolveWindow,
  stepSecondsMin,
  type ResolvedWindow,
} from "../request/window.ts";

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
export interface Query extends Pick<Grant, "tenant" | "environments" | "regions"> {
  readonly metrics: readonly QueriedMetric[];
  readonly filters: Filters;
  readonly groupBy: readonly LabelName[];
  readonly window: ResolvedWindow;
  /** The window of the same request at another time, in Unix milliseconds. @throws Refusal when it is invalid then */
  readonly windowAt: (nowMs: number) => ResolvedWindow;
  readonly exemplars: boolean;
  /** Makes a response with missing data an error. */
  readonly isCompleteRequired: boolean;
  readonly limit: number;
  readonly page: number;
  /** The snapshot that the page must be cut from; undefined for current data. */
  readonly snapshot: string | undefined;
  readonly schemaVersion: string;
  /** The query class with its limits; the data does not depend on it. */
  readonly quota: QueryClassGrant;
}

/** The catalog and the quotas that a query is resolved against. */
export interface QueryContext {
  readonly catalog: CatalogIndex;
  readonly quotas: Pick<RuntimeConfig, "quotas" | "classDefaults">;
}

/** Builds the query of `GET /v1/metrics/query`. @throws Refusal as seed "Operational Metrics API" §4.7 lists */
export function makeQuery(params: Parameters, caller: Caller, queryContext: QueryContext, nowMs: number): Query {
  const { selection, window } = readQuery(params);
  return resolve(
    { selection, caller, nowMs },
    queryContext,
    (minimum, limits) => (atMs) =>
      resolveWindow(window, selection.downsample, { nowMs: atMs, stepSecondsMin: minimum, limits }),
  );
}

/** Builds the query of `GET /v1/metrics/instant`, with a window of one point. @throws Refusal as {@link makeQuery} */
export function makeInstant(params: Parameters, caller: Caller, queryContext: QueryContext, nowMs: number): Query {
  const { selection, tsMs } = readInstant(params);
  return resolve(
    { selection, caller, nowMs },
    queryContext,
    (minimum) => (atMs) => resolveInstant(tsMs, selection.downsample, { nowMs: atMs, stepSecondsMin: minimum }),
  );
}

type ChooseWindow = (stepSecondsMinimum: number, limits: ClassLimits) => Query["windowAt"];

interface Resolving {
  readonly selection: Selection;
  readonly caller: Caller;
  readonly nowMs: number;
}

function resolve(
  { selection, caller, nowMs }: Resolving,
  queryContext: QueryContext,
  chooseWindow: ChooseWindow,
): Query {
  const entries = selection.metrics.map((id) => entryOf(id, queryContext.catalog));
  requireReadScope(caller);
  const granted = grant(entries, selection.filters, caller, accessOf(caller, queryContext.quotas));
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
    limit: limitOf(selection.limit, Math.min(seriesMax, limits.maxSeries)),
    page: selection.page,
    snapshot: selection.snapshot,
    schemaVersion: schemaVersionOf(entries, selection.schemaVersion),
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

/** Looks up a metric. @throws Refusal `unknown_metric` */
export function entryOf(id: string, catalog: CatalogIndex): MetricEntry {
  const entry = catalog.get(id);
  if (entry !== undefined) return entry;
  const detail = `the metric ${shown(id)} is not in the catalog; choose one of /v1/metrics/catalog`;
  throw refuseField("unknown_metric", "metric", detail);
}

/** Builds one metric of a query. @throws Refusal `invalid_aggregation`, `incompatible_increases` */
export function queriedMetric(granted: GrantedMetric, requested: Aggregation | undefined): QueriedMetric {
  const { metric } = granted.entry;
  const aggregation = requested ?? metric.defaultAggregation;
  if (!metric.aggregations.includes(aggregation)) {
    const valid = metric.aggregations.join(", ");
    throw refuseField(
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
 * @throws Refusal `incompatible_increases`
 */
export function requireOneRule({ entry, stores }: GrantedMetric, { needs }: Recipe): void {
  const rules = new Set(stores.map(({ config: store }) => traitsOf(store).increases));
  if (!needs.increases || rules.size === 1) return;
  const { id } = entry.metric;
  const detail = `the stores of ${id} compute increases by different rules; name one region with filter[region]`;
  throw refuseField("incompatible_increases", "filter[region]", detail);
}

/** Requires that each metric has the labels of a request. @throws Refusal `invalid_group_by`, `invalid_filter` */
export function requireLabels(
  selection: Pick<Selection, "groupBy" | "filters">,
  metrics: readonly MetricConfig[],
  groupByClassMax: number,
): void {
  requireShortFilters(selection.filters);
  for (const metric of metrics) {
    const most = Math.min(metric.maxGroupBy, groupByClassMax);
    if (selection.groupBy.length > most) {
      const detail = `group_by names ${selection.groupBy.length} labels; ${metric.id} allows at most ${most}`;
      throw refuseField("invalid_group_by", "group_by", detail);
    }
    for (const label of selection.groupBy) requireLabel(metric, label, "group_by", "invalid_group_by");
    for (const label of selection.filters.keys()) {
      if (!isolationLabels.includes(label)) requireLabel(metric, label, `filter[${label}]`, "invalid_filter");
    }
  }
}

function requireShortFilters(filters: Filters): void {
  const length = filters.values().reduce((sum, values) => sum + values.join("").length, 0);
  if (length <= filterTextMax) return;
  const detail = `the filters have ${length} characters; use at most ${filterTextMax}, or send several requests`;
  throw refuseField("invalid_filter", "filter", detail);
}

function requireLabel(
  metric: MetricConfig,
  label: LabelName,
  field: string,
  code: "invalid_group_by" | "invalid_filter",
): void {
  if (metric.labels.includes(label)) return;
  const advice = metric.labels.length === 0 ? "it has no labels" : `use one of ${metric.labels.join(", ")}`;
  throw refuseField(code, field, `${metric.id} has no label ${label}; ${advice}`);
}

/** The smallest step that a caller may request of metrics, in seconds. */
export function smallestStep(caller: Caller, metrics: readonly MetricConfig[], limits: ClassLimits): number {
  const callerMinimum = isPublic(caller) ? publicStepSecondsMin : stepSecondsMin;
  return Math.max(callerMinimum, limits.minStepSeconds, ...metrics.map((metric) => metric.minStepSeconds));
}

function limitOf(requested: number | undefined, most: number): number {
  if (requested === undefined || requested <= most) return requested ?? most;
  throw refuseField(
    "invalid_limit",
    "limit",
    `limit=${requested} is too large for this caller's class; use at most ${most}`,
  );
}

/**
 * The schema versions of the catalogs that are read, usually one; empty without entries.
 *
 * @throws Refusal `schema_version_gone` when the request pins another one
 */
export function schemaVersionOf(entries: readonly MetricEntry[], pinned: string | undefined): string {
  const served = [...new Set(entries.map(({ schemaVersion }) => schemaVersion))].sort().join(",");
  if (pinned === undefined || pinned === served || entries.length === 0) return served;
  throw refuseField(
    "schema_version_gone",
    "schema_version",
    `these metrics are served in schema version ${served}, not ${shown(pinned)}; pin ${served} or none`,
  );
}
