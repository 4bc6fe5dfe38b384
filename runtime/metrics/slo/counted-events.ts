import { ordinalOf, createMissingParts } from "../merge/merge-scalars.ts";
import { mergeStatistics } from "../merge/merge.ts";
import type { PartResult } from "../reads/read-part.ts";
import { gapsOf, type RegionGap } from "../reads/region-gaps.ts";
import type { Plan } from "../planning/plan.ts";
import { countingRecipe } from "./slo-recipe.ts";
import type { SloView } from "./slo-selection.ts";
import type { EventCounts } from "./slo-status.ts";

/** The events of an objective at each point of a plan. */
interface CountedEvents {
  /** Undefined for a point without data. */
  readonly counts: readonly (EventCounts | undefined)[];
  /** Stores that have only a part of the events. */
  readonly gaps: readonly RegionGap[];
}

/** Counts the events of an objective as a query of its metric does: a store that lacks a part adds nothing. */
export function countedEvents({ slo, entry }: SloView, results: readonly PartResult[], plan: Plan): CountedEvents {
  const { count } = plan.grid;
  const missing = createMissingParts();
  const rows = results.flatMap(({ part, ranges }, store) =>
    ranges.flatMap(({ series }, statistic) =>
      series.map((own) => ({ ...own, store, statistic, ordinal: ordinalOf(part, own.labels) })),
    ),
  );
  const merging = { count, weights: results.map(() => 1), missing };
  const [singledOuts, totals] = mergeStatistics(countingRecipe(entry.metric, slo), rows, merging);
  const valueAt = (points: typeof totals, index: number): number | undefined =>
    points?.present[index] === 1 && Number.isFinite(points.values[index]) ? points.values[index] : undefined;
  const counts = Array.from({ length: count }, (_, index): EventCounts | undefined => {
    const [singledOut, total] = [valueAt(singledOuts, index), valueAt(totals, index)];
    if (total === undefined || singledOut === undefined) return undefined;
    return { good: slo.counts === "Good" ? singledOut : total - singledOut, total };
  });
  const parts = results.map(({ part }) => part);
  return { counts, gaps: gapsOf(missing.all(), parts, plan) };
}
