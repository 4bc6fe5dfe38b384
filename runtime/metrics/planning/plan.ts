// Turns a canonical query into the requests to each store. It reads nothing: a plan does not depend on responses.
import { type LabelName, labelNames, type SeriesConfig, type StoreConfig } from "../../../crds/config.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { traitsOf } from "../../stores/prometheus/prometheus-client.ts";
import type { CatalogStore } from "../catalog-index.ts";
import {
  filterMatcher,
  fixedMatcher,
  type Matcher,
  type Newest,
  oneOf,
  type PartialQuery,
  type Selector,
  type Vector,
} from "../promql/promql.ts";
import type { StoreScope } from "../promql/recipe.ts";
import { firstPointMs, pointCount } from "../request/window.ts";
import { planPeer } from "./plan-peer.ts";
import type { QueriedMetric, Query } from "./query.ts";

/** All requests to one store for one metric. */
export interface PlannedPart {
  readonly metric: QueriedMetric;
  readonly store: CatalogStore;
  /** Labels that the store sets for all series of this query. */
  readonly imposed: ImposedLabels;
  /** The tenant in the header of requests; undefined if series name their own tenant, or have none. */
  readonly tenant: string | undefined;
  /** One range query per statistic, in the recipe's order; for a percentile, one for the buckets. */
  readonly ranges: readonly Vector[];
  /** The splits of each range query, one request each; together they cover the plan's grid. */
  readonly splits: readonly RangeSplit[];
  /** One instant query at the end of the window, for the time of the newest sample. */
  readonly newest: Newest | PartialQuery;
  /** The window ended before the store settled, so that no point can change. */
  readonly isSettled: boolean;
  /** The series whose exemplars the query wants. @default none */
  readonly exemplars: Selector | PartialQuery | undefined;
}

/** The requests of a query to its stores. */
export interface Plan {
  readonly query: Query;
  readonly grid: PointGrid;
  /** The time of the plan, in Unix milliseconds. */
  readonly nowMs: number;
  /** By metric, then by store key: the order in which partials are added. */
  readonly parts: readonly PlannedPart[];
  /** The plan of the earlier window that this one is compared with. @default none */
  readonly earlier?: Plan;
}

/** The plan itself and that of its earlier window: all that a query reads and is charged for. */
export function plansOf(plan: Plan): readonly Plan[] {
  return plan.earlier === undefined ? [plan] : [plan, plan.earlier];
}

/** Plans a query. */
export function makePlan(query: Query, nowMs: number): Plan {
  const stepMs = query.window.stepSeconds * 1_000;
  const grid = { startMs: firstPointMs(query.window), stepMs, count: pointCount(query.window) };
  return {
    query,
    grid,
    nowMs,
    parts: query.metrics.flatMap((metric) =>
      metric.stores.map((store) => planPart(query, grid, { metric, store, nowMs })),
    ),
    ...(query.earlier === undefined ? {} : { earlier: makePlan(query.earlier, nowMs) }),
  };
}

interface Placed {
  readonly metric: QueriedMetric;
  readonly store: CatalogStore;
  readonly nowMs: number;
}

function planPart(query: Query, grid: PointGrid, { metric, store, nowMs }: Placed): PlannedPart {
  const { recipe } = metric;
  const { config } = store;
  const imposed = imposedLabels(config, query.tenant);
  const placed = {
    metric,
    store,
    imposed,
    tenant: config.tenancy === "StoreHeader" ? query.tenant : undefined,
    isSettled: query.window.toMs < nowMs - config.settleSeconds * 1_000,
    splits: traitsOf(config).isCuttable ? splitRange(grid, query.window.widthSeconds * 1_000) : [{ offset: 0, grid }],
  };
  if (config.peer !== undefined) {
    const groupBy = query.groupBy.filter((label) => imposed[label] === undefined);
    return { ...placed, ...planPeer(query, metric, { store, groupBy }) };
  }
  const scope = scopeOf(query, config, imposed);
  return {
    ...placed,
    ranges:
      recipe.kind === "quantile"
        ? [recipe.buckets(scope)]
        : recipe.statistics.map((statistic) => statistic.expr(scope)),
    newest: { kind: "timestamp", of: recipe.dated(scope) },
    exemplars: query.exemplars ? recipe.exemplified(scope) : undefined,
  };
}

function scopeOf(query: Query, store: StoreConfig, imposed: ImposedLabels): StoreScope {
  const governed = matchersOf(query, store, imposed);
  return {
    select: (series: SeriesConfig, suffix = "") => ({
      name: `${series.name}${suffix}`,
      matchers: [...series.matchers.map(fixedMatcher), ...governed],
    }),
    by: groupedInStore(store, imposed, query.groupBy),
    rangeMs: query.window.widthSeconds * 1_000,
  };
}

/** The matchers that narrow the series of a store to the tenant, the environments and the filters of the query. */
function matchersOf(query: Query, store: StoreConfig, imposed: ImposedLabels): readonly Matcher[] {
  const wanted = new Map<LabelName, (label: string) => Matcher>(
    query.filters.entries().map(([name, values]) => [name, (label) => filterMatcher(label, values)]),
  );
  wanted.set("tenant", (label) => oneOf(label, [query.tenant]));
  const { environments } = query;
  if (environments !== "every") wanted.set("environment", (label) => oneOf(label, [...environments].sort()));
  return (
    [...wanted]
      // The selection of the stores has matched the labels that a store sets.
      .filter(([label]) => imposed[label] === undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([label, matcher]) => matcher(storeLabel(store, label)))
  );
}

/** Labels of a series in a response: governed names, sorted, without labels that the series does not have. */
export type Labels = Readonly<Partial<Record<LabelName, string>>>;

/** Labels that a store sets for all of its series. An empty value removes the label. */
type ImposedLabels = Readonly<Partial<Record<LabelName, string>>>;

/** The name of a governed label inside a store. */
export function storeLabel(store: StoreConfig, label: LabelName): string {
  return store.labelMap[label] ?? label;
}

/** The labels that a store sets for the series of one tenant. */
export function imposedLabels({ region, environment, tenancy }: StoreConfig, tenant: string): ImposedLabels {
  return {
    region,
    ...(environment === undefined ? {} : { environment }),
    // A platform store has no tenant, whatever its labels are. A store that gets the tenant in a header returns only
    // series of that tenant.
    ...(tenancy === "Labelled" ? {} : { tenant: tenancy === "Platform" ? "" : tenant }),
  };
}

/** The labels that the store groups by, in its own names. */
export function groupedInStore(
  store: StoreConfig,
  imposed: ImposedLabels,
  groupBy: readonly LabelName[],
): readonly string[] {
  return groupBy.filter((label) => imposed[label] === undefined).map((label) => storeLabel(store, label));
}

/** The store of a series and the labels that the store sets. */
export interface LabelSource {
  readonly store: Pick<CatalogStore, "config">;
  readonly imposed: ImposedLabels;
}

/** The governed labels of a series from a store. */
export function governedLabels(
  { store, imposed }: LabelSource,
  groupBy: readonly LabelName[],
  labels: Readonly<Record<string, string>>,
): Labels {
  const governed: Partial<Record<LabelName, string>> = {};
  for (const label of groupBy) {
    const value = imposed[label] ?? labels[storeLabel(store.config, label)] ?? "";
    if (value !== "") governed[label] = value;
  }
  return governed;
}

/** A key that is equal for equal labels only, since JSON escapes every separator in a value. */
export function labelsKey(labels: Labels): string {
  return JSON.stringify(sortedLabelNames.map((label) => labels[label] ?? ""));
}

/** The order of series in a response: by label name, then by value. */
export function compareLabels(a: Labels, b: Labels): number {
  for (const label of sortedLabelNames) {
    const [left = "", right = ""] = [a[label], b[label]];
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

const sortedLabelNames: readonly LabelName[] = [...labelNames].sort();

const dayMs = 86_400_000;
/** Least points of a split; where a day has fewer, a split is several days long. */
const splitPointsMin = 288;

/** Adjacent points that one request reads. */
export interface RangeSplit {
  readonly grid: PointGrid;
  /** Index of its first point in the whole grid. */
  readonly offset: number;
}

/**
 * Splits a grid at the ends of whole days. A store then reads the days of a long window in parallel, and overlapping
 * windows share splits. Splits of coarse points are several days long, and none is shorter than a point is wide: each
 * split reads the samples of a whole point before its first one.
 */
export function splitRange({ startMs, stepMs, count }: PointGrid, widthMs: number): readonly RangeSplit[] {
  const days = Math.max(1, Math.floor((splitPointsMin * stepMs) / dayMs), Math.ceil(widthMs / dayMs));
  const lengthMs = days * dayMs;
  const splits: RangeSplit[] = [];
  for (let offset = 0; offset < count;) {
    const firstMs = startMs + offset * stepMs;
    // A point belongs to the day in which it ends; a point at midnight belongs to the day before.
    const endMs = Math.ceil(firstMs / lengthMs) * lengthMs;
    const points = Math.min(count - offset, Math.floor((endMs - firstMs) / stepMs) + 1);
    splits.push({ offset, grid: { startMs: firstMs, stepMs, count: points } });
    offset += points;
  }
  return splits;
}
