import { seriesMax } from "../../../api/queries.ts";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import { measureName, type QueriedMetric, type Query } from "../planning/query.ts";
import type { PartOutcome, PartResult } from "../reads/read-part.ts";
import { isolationLabels } from "../request/parameters.ts";
import { stepsPerPoint, windowSecondsDefault } from "../request/window.ts";

/** Assumed buckets of a histogram before the first response. */
const bucketsAssumed = 12;

/**
 * Cost units by metric id. A cost unit is one point of one series that a store computes, over the samples of one step:
 * a point that is wider than its step reads as many samples as several points.
 */
export type Costs = ReadonlyMap<string, number>;

/** The expected cost of a query. Source: seed "Operational Metrics API" §6, `X-Query-Cost-Estimate`. */
export function expectedCosts(
  { parts, grid, query }: Plan,
  seriesExpected: (part: PlannedPart, query: Query) => number = assumedSeries,
): Costs {
  return addedCosts(parts.map((part) => costOf(part, seriesExpected(part, query) * pointUnits({ grid, query }))));
}

/** The actual cost of a query; a failed store counts as no cost. @param share of the points that stores computed */
export function actualCosts(plan: Plan, outcomes: readonly PartOutcome[], share: number): Costs {
  return addedCosts(
    outcomes.map(({ part, outcome }) =>
      costOf(part, outcome.ok ? Math.ceil(seriesOf(outcome.value) * pointUnits(plan) * share) : 0),
    ),
  );
}

/** The cost of one series at all points. */
function pointUnits({ grid, query }: Pick<Plan, "grid" | "query">): number {
  return grid.count * stepsPerPoint(query.window);
}

/** Adds the costs of several queries, or of the parts of one. */
export function addedCosts(costs: readonly Costs[]): Costs {
  const sums = new Map<string, number>();
  for (const [metric, cost] of costs.flatMap((own) => [...own])) sums.set(metric, (sums.get(metric) ?? 0) + cost);
  return sums;
}

/** The cost of all metrics together. */
export function totalCost(costs: Costs): number {
  return costs.values().reduce((sum, cost) => sum + cost, 0);
}

/** The series without an earlier response: one for an ungrouped range query, a full page for a grouped one. */
function assumedSeries({ metric, ranges }: PlannedPart, query: Query): number {
  const grouped = query.ranking === undefined ? query.limit : Math.max(query.limit, seriesMax);
  const seriesPerRange = query.groupBy.length === 0 ? 1 : grouped;
  return seriesPerRange * (metric.recipe.kind === "quantile" ? bucketsAssumed : ranges.length);
}

/** The number of series in the result of one part: of each range query as many as its largest piece has. */
function seriesOf({ ranges, histograms }: PartResult): number {
  return ranges.reduce((sum, range) => sum + countSeries(range), histograms.length);
}

function countSeries(range: PartResult["ranges"][number]): number {
  if (range.pieces === undefined) return range.series.length;
  return Math.max(0, ...range.pieces.map(({ cut, count }) => cut(0, count).length));
}

function costOf({ metric }: PlannedPart, cost: number): Costs {
  return new Map([[metric.entry.metric.id, cost]]);
}

/** Most shapes of queries, of about 200 bytes each. Above it, the least recently used one is removed. */
const shapesMax = 20_000;
/** Share of the earlier number that is still expected after a response with fewer series. */
const memory = 0.9;

/**
 * The number of series that stores return, learned from responses to queries of the same shape. A shape is a metric, a
 * measure, a store, and the labels of grouping and filters.
 */
export interface Cardinality {
  /** The expected series of one part, over all of its range queries. */
  expected(part: PlannedPart, query: Query): number;
  /** Records the series that stores returned. */
  record(outcomes: readonly PartOutcome[], query: Query): void;
  /** Counts the records that changed a number; with an equal count, every expected number is the same. */
  changes(): number;
}

/** Creates a cardinality without any record. */
export function createCardinality(): Cardinality {
  const seen = new BoundedMap<string, number>(shapesMax);
  let changes = 0;
  return {
    changes: () => changes,
    expected: (part, query) => seen.get(shapeOf(part, query)) ?? assumedSeries(part, query),
    record(outcomes, query) {
      for (const { part, outcome } of outcomes) {
        if (!outcome.ok) continue;
        const shape = shapeOf(part, query);
        const before = seen.get(shape) ?? 0;
        const after = Math.max(1, seriesOf(outcome.value), Math.round(before * memory));
        if (after !== before) changes += 1;
        seen.set(shape, after);
      }
    },
  };
}

function shapeOf({ metric, store }: PlannedPart, { groupBy, filters }: Query): string {
  return JSON.stringify([
    metric.entry.metric.id,
    measureName(metric),
    store.key,
    groupBy,
    filters
      .entries()
      .map(([label, values]) => (values.length === 1 ? label : `${label} ${values.length}`))
      .toArray()
      .sort(),
  ]);
}

/**
 * The request tokens of one query: one, and one more for each doubling of its window beyond the default window. A burst
 * thus allows a wide window, up to the widest of the class. Source: seed "Operational Metrics API" §8, "Burst tokens
 * allow wider windows".
 */
export function requestTokens(windowSeconds: number): number {
  return 1 + Math.max(0, Math.ceil(Math.log2(windowSeconds / windowSecondsDefault)));
}

/** What requests use of a metric, such as `label psp`, with the number of requests. */
export type MetricUses = Iterable<readonly [name: string, requests: number]>;

/** Most uses of a metric: all aggregations and labels, and as many regions as a catalog has stores. */
const usesMax = 64;
/** Filters of these labels are allowed for every metric, so that they use none of its labels. */
const isolationNames: ReadonlySet<string> = new Set(isolationLabels);

/** Names a use of a metric. */
export function useName(kind: "aggregation" | "label" | "region", name: string): string {
  return `${kind} ${name}`;
}

/** What one query uses of one of its metrics, each once. */
export function usesOf(
  { groupBy, filters }: Pick<Query, "groupBy" | "filters">,
  { aggregation, measure, stores }: QueriedMetric,
): MetricUses {
  const filtered = [...filters.keys()].filter((label) => !isolationNames.has(label));
  const names = [
    ...(measure === undefined ? [useName("aggregation", aggregation)] : []),
    ...[...groupBy, ...filtered].map((label) => useName("label", label)),
    ...stores.map(({ config }) => useName("region", config.region)),
  ];
  return [...new Set(names)].map((name) => [name, 1] as const);
}

/** Adds uses to earlier ones, which change, up to a bound. */
export function addUses(before: Map<string, number> | undefined, uses: MetricUses): Map<string, number> {
  const sums = before ?? new Map<string, number>();
  for (const [name, requests] of uses) {
    const known = sums.get(name);
    if (known !== undefined || sums.size < usesMax) sums.set(name, (known ?? 0) + requests);
  }
  return sums;
}
