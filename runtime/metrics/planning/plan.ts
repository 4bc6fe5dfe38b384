import type { LabelName, SeriesConfig, StoreConfig } from "../../../crds/config.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { CatalogStore } from "../catalog/catalog-index.ts";
import { splitRange, type RangeSplit } from "./split-interval.ts";
import { groupedInStore, imposedLabels, storeLabel, type ImposedLabels } from "./labels.ts";
import type { StoreScope } from "../promql/kinds/recipe.ts";
import { askPeer } from "./plan-peer.ts";
import { fixedMatcher, oneOf, type Matcher, type Question, type Selector, type Vector } from "../promql/promql.ts";
import type { QueriedMetric, Query } from "./query.ts";
import { pointCount } from "../request/window.ts";

/** Everything one store is asked for one metric. */
export interface PlannedPart {
  readonly metric: QueriedMetric;
  readonly store: CatalogStore;
  /** Labels that all series of the store have in this query. */
  readonly imposed: ImposedLabels;
  /** The tenant that the store is told; undefined where the series name their own, or have none. */
  readonly tenant: string | undefined;
  /** One range query per statistic, in the recipe's order; for a percentile, the buckets. */
  readonly ranges: readonly Vector[];
  /** What each range query is cut into, one request each; together they are the plan's grid. */
  readonly splits: readonly RangeSplit[];
  /**
   * One instant query at the end of the window: when the newest sample was taken. Undefined for a window that ended
   * before the store settled: its age is great, and its newest point says it well enough.
   */
  readonly newest: Vector | undefined;
  /** The series whose exemplars are wanted; undefined: none are. */
  readonly exemplars: Selector | Question | undefined;
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
  const grid = { startMs: query.window.fromMs + stepMs, stepMs, count: pointCount(query.window) };
  return {
    query,
    grid,
    parts: query.metrics.flatMap((metric) =>
      metric.stores.map((store) => planPart(query, grid, { metric, store, nowMs })),
    ),
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
  const isSettled = query.window.toMs < nowMs - config.settleSeconds * 1_000;
  const imposed = imposedLabels(config, query.tenant);
  const placed = {
    metric,
    store,
    imposed,
    tenant: config.tenancy === "StoreHeader" ? query.tenant : undefined,
    splits: traitsOf(config).isCuttable ? splitRange(grid) : [{ offset: 0, grid }],
  };
  if (config.peer !== undefined) {
    const { newest, ...asked } = askPeer(query, metric, store);
    return { ...placed, ...asked, newest: isSettled ? undefined : newest };
  }
  const scope = scopeOf(query, config, imposed);
  return {
    ...placed,
    ranges:
      recipe.kind === "quantile"
        ? [recipe.buckets(scope)]
        : recipe.statistics.map((statistic) => statistic.expr(scope)),
    newest: isSettled ? undefined : { kind: "timestamp", of: recipe.dated(scope) },
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
    rangeMs: query.window.stepSeconds * 1_000,
  };
}

/** What narrows the series of a store to those of the query: its tenant, its environments and its filters. */
function matchersOf(query: Query, store: StoreConfig, imposed: ImposedLabels): readonly Matcher[] {
  const wanted = new Map<LabelName, readonly string[]>([...query.filters].map(([label, value]) => [label, [value]]));
  wanted.set("tenant", [query.tenant]);
  if (query.environments !== "every") wanted.set("environment", [...query.environments].sort());
  return (
    [...wanted]
      // An imposed label was matched when the store was chosen.
      .filter(([label]) => imposed[label] === undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([label, values]) => oneOf(storeLabel(store, label), values))
  );
}
