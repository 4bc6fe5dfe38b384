import type { PlannedPart, Plan } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import type { PartResult } from "../execution/read-part.ts";
import type { PartOutcome } from "../execution/read-stores.ts";

/** Buckets that a histogram is taken to have before any store was asked. */
const bucketsAssumed = 12;

/** Cost units by metric id: points that stores compute, which are series times points. */
export type Costs = ReadonlyMap<string, number>;

/** What a query is expected to cost. Source: seed "Operational Metrics API" §6, `X-Query-Cost-Estimate`. */
export function expectedCosts(
  { parts, grid, query }: Plan,
  seriesExpected: (part: PlannedPart, query: Query) => number = assumedSeries,
): Costs {
  return addedCosts(parts.map((part) => costOf(part, seriesExpected(part, query) * grid.count)));
}

/**
 * What it did cost; a store that failed cost nothing that anybody knows.
 *
 * @param share of the points that stores had to compute
 */
export function actualCosts({ grid }: Plan, outcomes: readonly PartOutcome[], share: number): Costs {
  return addedCosts(
    outcomes.map(({ part, outcome }) =>
      costOf(part, outcome.ok ? Math.ceil(seriesOf(outcome.value) * grid.count * share) : 0),
    ),
  );
}

/** Those of several queries, or of parts of one, together. */
export function addedCosts(costs: readonly Costs[]): Costs {
  const sums = new Map<string, number>();
  for (const [metric, cost] of costs.flatMap((own) => [...own])) sums.set(metric, (sums.get(metric) ?? 0) + cost);
  return sums;
}

/** All metrics together. */
export function totalCost(costs: Costs): number {
  return costs.values().reduce((sum, cost) => sum + cost, 0);
}

/** Without any experience: ungrouped, a range query answers one series; grouped, as many as the page may hold. */
export function assumedSeries({ metric, ranges }: PlannedPart, query: Query): number {
  const seriesPerRange = query.groupBy.length === 0 ? 1 : query.limit;
  return seriesPerRange * (metric.recipe.kind === "quantile" ? bucketsAssumed : ranges.length);
}

/** Series of one store's answer. */
export function seriesOf({ ranges, histograms }: PartResult): number {
  return ranges.reduce((sum, series) => sum + series.length, histograms.length);
}

function costOf({ metric }: PlannedPart, cost: number): Costs {
  return new Map([[metric.entry.metric.id, cost]]);
}
