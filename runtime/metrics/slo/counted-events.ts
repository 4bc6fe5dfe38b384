import { mergeScalars } from "../aggregation/merge-scalars.ts";
import type { PartResult } from "../execution/read-part.ts";
import type { SloView } from "./slo-selection.ts";
import type { EventCounts } from "./slo-status.ts";

/** Counts the events of an objective at each point of a plan; undefined for a point without data. */
export function countedEvents(
  { slo, entry }: SloView,
  results: readonly PartResult[],
  count: number,
): readonly (EventCounts | undefined)[] {
  const totals = sumsOf(results, 1, count);
  const singledOuts = sumsOf(results, 0, count);
  // A counter without an event does not exist yet. Without a bucket, the threshold is not a bound of the histogram.
  const without = entry.metric.source.kind === "ratio" ? 0 : undefined;
  return totals.map((total, index) => {
    const singledOut = singledOuts[index] ?? without;
    if (total === undefined || singledOut === undefined) return undefined;
    return { good: slo.counts === "Good" ? singledOut : total - singledOut, total };
  });
}

/** Sums one statistic over all stores; undefined for a point without a series. */
function sumsOf(results: readonly PartResult[], statistic: number, count: number): readonly (number | undefined)[] {
  const parts = results.flatMap(({ ranges }) =>
    (ranges[statistic]?.series ?? []).map((series) => ({ ...series, weight: 1 })),
  );
  const { values, present } = mergeScalars(parts, "sum", count);
  return Array.from({ length: count }, (_, index) => {
    const value = values[index];
    return present[index] === 1 && Number.isFinite(value) ? value : undefined;
  });
}
