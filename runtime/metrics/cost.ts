import type { PlannedPart, Plan } from "./plan.ts";

/** Buckets that a histogram is taken to have before any store was asked. */
const bucketsAssumed = 12;

/**
 * Cost of a query before it runs, in points that the stores have to compute: for each range query to each store, the
 * points times the series that it is expected to answer. Ungrouped, that is one series; grouped, as many as the page
 * may hold. Source: seed "Operational Metrics API" §6, `X-Query-Cost-Estimate`.
 */
export function costEstimate({ parts, grid, query }: Plan): number {
  const seriesPerRange = query.groupBy.length === 0 ? 1 : query.limit;
  const ranges = parts.reduce((sum, part) => sum + rangesOf(part), 0);
  return ranges * seriesPerRange * grid.count;
}

function rangesOf({ metric, ranges }: PlannedPart): number {
  return metric.recipe.kind === "quantile" ? bucketsAssumed : ranges.length;
}
