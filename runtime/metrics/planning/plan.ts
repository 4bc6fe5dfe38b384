// Turns a canonical query into the requests to each store. It reads nothing: a plan does not depend on responses.
import { bucketsPart, exemplarsPart, newestPart, type PartialAsk } from "../../../api/peers.ts";
import type { LabelName, SeriesConfig, StoreConfig } from "../../../crds/config.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { CatalogStore } from "../catalog-index.ts";
import {
  filterMatcher,
  fixedMatcher,
  type Matcher,
  type Newest,
  oneOf,
  type Question,
  type Selector,
  type Vector,
} from "../promql/promql.ts";
import type { StoreScope } from "../promql/recipe.ts";
import { firstPointMs, pointCount } from "../request/window.ts";
import {
  groupedInStore,
  imposedLabels,
  type ImposedLabels,
  isolationLabels,
  storeLabel,
  writtenFilters,
} from "./labels.ts";
import type { QueriedMetric, Query } from "./query.ts";
import { type RangeSplit, splitRange } from "./split-interval.ts";

/** All requests to one store for one metric. */
export interface PlannedPart {
  readonly metric: QueriedMetric;
  readonly store: CatalogStore;
  /** Labels that the store sets for all series of this query. */
  readonly imposed: ImposedLabels;
  /** The tenant in the header of requests; undefined where series name their own tenant, or have none. */
  readonly tenant: string | undefined;
  /** One range query per statistic, in the recipe's order; for a percentile, one for the buckets. */
  readonly ranges: readonly Vector[];
  /** The splits of each range query, one request each; together they cover the plan's grid. */
  readonly splits: readonly RangeSplit[];
  /** One instant query at the end of the window, for the time of the newest sample. */
  readonly newest: Newest | Question;
  /** The window ended before the store settled, so that no point can change. */
  readonly isSettled: boolean;
  /** The series whose exemplars the query wants. @default none */
  readonly exemplars: Selector | Question | undefined;
}

/** The requests of a query to its stores. */
export interface Plan {
  readonly query: Query;
  readonly grid: PointGrid;
  /** The time of the plan, in Unix milliseconds. */
  readonly nowMs: number;
  /** By metric, then by store key: the order in which partials are added. */
  readonly parts: readonly PlannedPart[];
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
    return { ...placed, ...planPeer(query, metric, store) };
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

/** The questions to a peer about one metric. */
interface PeerQuestions {
  /** One for each statistic, in the recipe's order; for a percentile, one for the buckets. */
  readonly ranges: readonly Question[];
  readonly newest: Question;
  readonly exemplars: Question | undefined;
}

/** Builds the questions of one metric to the peer of a region. They carry the rights as granted names. */
function planPeer(query: Query, metric: QueriedMetric, store: CatalogStore): PeerQuestions {
  const { recipe } = metric;
  const base = baseOf(query, metric, store);
  const { stepSeconds, widthSeconds } = query.window;
  const points = {
    width_ms: widthSeconds * 1_000,
    ...(stepSeconds === widthSeconds ? {} : { step_ms: stepSeconds * 1_000 }),
    interval_seconds: store.intervalSeconds,
    increases: traitsOf(store.config).increases,
  };
  const parts = recipe.kind === "quantile" ? [bucketsPart] : recipe.statistics.map(({ name }) => name);
  return {
    ranges: parts.map((part) => ({ kind: "question", of: { ...base, part, points } })),
    newest: { kind: "question", of: { ...base, part: newestPart } },
    exemplars: query.exemplars ? { kind: "question", of: { ...base, part: exemplarsPart } } : undefined,
  };
}

function baseOf(
  query: Query,
  { entry, aggregation, slo }: QueriedMetric,
  { config: store }: CatalogStore,
): Omit<PartialAsk, "part"> {
  const imposed = imposedLabels(store, query.tenant);
  const environments = store.environment === undefined ? query.environments : new Set([store.environment]);
  return {
    schema_version: entry.schemaVersion,
    region: store.region,
    regions: query.regions,
    metric: entry.metric.id,
    agg: aggregation,
    ...(slo === undefined ? {} : { slo }),
    tenant: query.tenant,
    ...(environments === "every" ? {} : { environments: [...environments].sort() }),
    filters: Object.fromEntries(
      // Environments are a member of their own, unless a filter wants any.
      writtenFilters(query.filters).filter(
        ([label, values]) => !isolationLabels.includes(label) || (label === "environment" && values.length === 0),
      ),
    ),
    group_by: query.groupBy.filter((label) => imposed[label] === undefined),
  };
}
