import type { Aggregation, ClassLimits, LabelName, MetricConfig, RuntimeConfig } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import { accessOf, classOf, type QueryClassGrant } from "../authorization/access.ts";
import { isPublic, type Caller } from "../authorization/caller.ts";
import type { CatalogIndex, MetricEntry } from "../catalog/catalog-index.ts";
import { isolationLabels } from "./labels.ts";
import type { Recipe } from "../promql/kinds/recipe.ts";
import { recipeOf } from "../promql/kinds/recipe-of.ts";
import { type Parameters, readInstant, readQuery, seriesMax, shown, type Selection } from "../request/parameters.ts";
import { grant, requireReadScope, type Grant, type GrantedMetric } from "../authorization/policy.ts";
import {
  publicStepSecondsMin,
  resolveInstant,
  resolveWindow,
  stepSecondsMin,
  type ResolvedWindow,
} from "../request/window.ts";

/** One metric of a query with all that its answer depends on. */
export interface QueriedMetric extends GrantedMetric {
  readonly aggregation: Aggregation;
  readonly recipe: Recipe;
  /** The objective whose events are counted. @default none: it is a query of the metric */
  readonly slo?: string;
}

/**
 * A request in its closed, canonical form: lists sorted, defaults filled in, rights applied. Two requests with equal
 * queries have equal answers; nothing outside of it changes what is read.
 */
export interface Query extends Pick<Grant, "tenant" | "environments" | "regions"> {
  readonly metrics: readonly QueriedMetric[];
  readonly filters: ReadonlyMap<LabelName, string>;
  readonly groupBy: readonly LabelName[];
  readonly window: ResolvedWindow;
  /**
   * What the window of the same request is at another time, in Unix milliseconds. @throws Refusal when it is not valid
   * then
   */
  readonly windowAt: (nowMs: number) => ResolvedWindow;
  readonly exemplars: boolean;
  /** Whether an answer without some of its data is an error. */
  readonly isCompleteRequired: boolean;
  readonly limit: number;
  readonly page: number;
  /** The data the page must be cut from; undefined: whatever is there. */
  readonly snapshot: string | undefined;
  readonly schemaVersion: string;
  /** The class that it runs in; nothing of the answer depends on it. */
  readonly quota: QueryClassGrant;
}

/** What a query is resolved against. */
export interface QueryContext {
  readonly catalog: CatalogIndex;
  readonly quotas: Pick<RuntimeConfig, "quotas" | "classDefaults">;
}

/**
 * The query of `GET /v1/metrics/query`. @throws Refusal for everything that seed "Operational Metrics API" §4.7 says
 */
export function makeQuery(params: Parameters, caller: Caller, queryContext: QueryContext, nowMs: number): Query {
  const { selection, window } = readQuery(params);
  return resolve(
    { selection, caller, nowMs },
    queryContext,
    (minimum, limits) => (atMs) =>
      resolveWindow(window, selection.downsample, { nowMs: atMs, stepSecondsMin: minimum, limits }),
  );
}

/** The query of `GET /v1/metrics/instant`: a window of one point. @throws Refusal as {@link makeQuery} does */
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

/** A query that this runtime makes by itself: of one window, of one page, without a pinned snapshot. */
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

/** @throws Refusal `unknown_metric` */
export function entryOf(id: string, catalog: CatalogIndex): MetricEntry {
  const entry = catalog.get(id);
  if (entry === undefined)
    throw refuseField("unknown_metric", "metric", `the metric ${shown(id)} is not in the catalog`);
  return entry;
}

/** One metric of a query. @throws Refusal `invalid_aggregation`, `incompatible_increases` */
export function queriedMetric(granted: GrantedMetric, asked: Aggregation | undefined): QueriedMetric {
  const { metric } = granted.entry;
  const aggregation = asked ?? metric.defaultAggregation;
  if (!metric.aggregations.includes(aggregation)) {
    const valid = metric.aggregations.join(", ");
    throw refuseField("invalid_aggregation", "agg", `${metric.id} has no ${aggregation}; ask one of ${valid}`);
  }
  const recipe = recipeOf(metric, aggregation);
  requireOneRule(granted, recipe);
  return { ...granted, aggregation, recipe };
}

/**
 * Increases by different rules do not add up to anything. Source: design §5 rule 6, "never mixed in one answer".
 *
 * @throws Refusal `incompatible_increases`
 */
export function requireOneRule({ entry, stores }: GrantedMetric, { needs }: Recipe): void {
  const rules = new Set(stores.map(({ config: store }) => traitsOf(store).increases));
  if (!needs.increases || rules.size === 1) return;
  const { id } = entry.metric;
  const detail = `${id} is in stores that compute increases differently; ask one region with filter[region]`;
  throw refuseField("incompatible_increases", "filter[region]", detail);
}

/** @throws Refusal `invalid_group_by`, `invalid_filter` for labels that a metric does not have, or too many of them */
export function requireLabels(
  selection: Pick<Selection, "groupBy" | "filters">,
  metrics: readonly MetricConfig[],
  groupByClassMax: number,
): void {
  for (const metric of metrics) {
    const most = Math.min(metric.maxGroupBy, groupByClassMax);
    if (selection.groupBy.length > most) {
      throw refuseField("invalid_group_by", "group_by", `${metric.id} can be grouped by at most ${most} labels`);
    }
    for (const label of selection.groupBy) requireLabel(metric, label, "group_by", "invalid_group_by");
    for (const label of selection.filters.keys()) {
      if (!isolationLabels.includes(label)) requireLabel(metric, label, `filter[${label}]`, "invalid_filter");
    }
  }
}

function requireLabel(
  metric: MetricConfig,
  label: LabelName,
  field: string,
  code: "invalid_group_by" | "invalid_filter",
): void {
  if (metric.labels.includes(label)) return;
  const labels = metric.labels.length === 0 ? "no labels" : `the labels ${metric.labels.join(", ")}`;
  throw refuseField(code, field, `${metric.id} has no label ${label}; it has ${labels}`);
}

function smallestStep(caller: Caller, metrics: readonly MetricConfig[], limits: ClassLimits): number {
  const callerMinimum = isPublic(caller) ? publicStepSecondsMin : stepSecondsMin;
  return Math.max(callerMinimum, limits.minStepSeconds, ...metrics.map((metric) => metric.minStepSeconds));
}

function limitOf(asked: number | undefined, most: number): number {
  if (asked === undefined || asked <= most) return asked ?? most;
  throw refuseField("invalid_limit", "limit", `limit is at most ${most} for this caller's class`);
}

/**
 * Versions of the catalogs that are read; one in all but the rarest query, none without entries.
 *
 * @throws Refusal `schema_version_gone` when another one is pinned
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
