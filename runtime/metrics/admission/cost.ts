import type { PlannedPart, Plan } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import type { PartResult } from "../reads/read-part.ts";
import type { PartOutcome } from "../reads/read-stores.ts";
import { stepsPerPoint } from "../request/window.ts";

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
export function assumedSeries({ metric, ranges }: PlannedPart, query: Query): number {
  const seriesPerRange = query.groupBy.length === 0 ? 1 : query.limit;
  return seriesPerRange * (metric.recipe.kind === "quantile" ? bucketsAssumed : ranges.length);
}

/** The number of series in the result of one part: of each range query as many as its largest piece has. */
export function seriesOf({ ranges, histograms }: PartResult): number {
  return ranges.reduce((sum, range) => sum + countSeries(range), histograms.length);
}

function countSeries(range: PartResult["ranges"][number]): number {
  if (range.pieces === undefined) return range.series.length;
  return Math.max(0, ...range.pieces.map(({ cut, count }) => cut(0, count).length));
}

function costOf({ metric }: PlannedPart, cost: number): Costs {
  return new Map([[metric.entry.metric.id, cost]]);
}
