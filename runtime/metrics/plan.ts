import type { LabelName, SeriesConfig, StoreConfig } from "../../crds/config.ts";
import type { PointGrid } from "../stores/matrix.ts";
import type { HeldStore } from "./catalog-index.ts";
import { groupedInStore, imposedLabel, storeLabel } from "./labels.ts";
import type { StoreScope } from "./kinds/recipe.ts";
import { fixedMatcher, oneOf, type Matcher, type Selector, type Vector } from "./promql.ts";
import type { QueriedMetric, Query } from "./query.ts";
import { pointCount } from "./window.ts";

/** Everything one store is asked for one metric. */
export interface PlannedPart {
  readonly metric: QueriedMetric;
  readonly held: HeldStore;
  /** One range query per statistic, in the recipe's order; for a percentile, the buckets. */
  readonly ranges: readonly Vector[];
  /**
   * One instant query at the end of the window: when the newest sample was taken. Undefined for a window that ended
   * before the store settled: its age is great, and its newest point says it well enough.
   */
  readonly newest: Vector | undefined;
  /** The series whose exemplars are wanted; undefined: none are. */
  readonly exemplars: Selector | undefined;
}

/** What a query asks of the stores. */
export interface Plan {
  readonly query: Query;
  readonly grid: PointGrid;
  /** By metric, then by store key: the order in which partials are added. */
  readonly parts: readonly PlannedPart[];
}

/** Plans a query. Nothing is decided here that depends on what a store answers. */
export function makePlan(query: Query, nowMs: number): Plan {
  const stepMs = query.window.stepSeconds * 1_000;
  return {
    query,
    grid: { startMs: query.window.fromMs + stepMs, stepMs, count: pointCount(query.window) },
    parts: query.metrics.flatMap((metric) => metric.stores.map((held) => planPart(query, metric, held, nowMs))),
  };
}

function planPart(query: Query, metric: QueriedMetric, held: HeldStore, nowMs: number): PlannedPart {
  const { recipe } = metric;
  const isSettled = query.window.toMs < nowMs - held.store.settleSeconds * 1_000;
  const scope = scopeOf(query, held.store);
  return {
    metric,
    held,
    ranges: recipe.kind === "quantile"
      ? [recipe.buckets(scope)]
      : recipe.statistics.map((statistic) => statistic.expr(scope)),
    newest: isSettled ? undefined : { kind: "timestamp", of: recipe.dated(scope) },
    exemplars: query.exemplars ? recipe.exemplified(scope) : undefined,
  };
}

function scopeOf(query: Query, store: StoreConfig): StoreScope {
  const governed = matchersOf(query, store);
  return {
    select: (series: SeriesConfig, suffix = "") => ({
      name: `${series.name}${suffix}`,
      matchers: [...series.matchers.map(fixedMatcher), ...governed],
    }),
    by: groupedInStore(store, query.groupBy),
    rangeMs: query.window.stepSeconds * 1_000,
  };
}

/** What narrows the series of a store to those of the query: its tenant, its environments and its filters. */
function matchersOf(query: Query, store: StoreConfig): readonly Matcher[] {
  const wanted = new Map<LabelName, readonly string[]>([...query.filters].map(([label, value]) => [label, [value]]));
  wanted.set("tenant", [query.tenant]);
  if (query.environments !== "every") wanted.set("environment", [...query.environments].sort());
  return [...wanted]
    // An imposed label was matched when the store was chosen.
    .filter(([label]) => imposedLabel(store, label) === undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, values]) => oneOf(storeLabel(store, label), values));
}
