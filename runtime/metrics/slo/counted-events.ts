import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
import { createMissingParts, ordinalOf } from "../merge/merge-scalars.ts";
import { mergeStatistics } from "../merge/merge.ts";
import type { Plan } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import { eventFractionRecipe } from "../promql/event-recipes.ts";
import { recipeOf } from "../promql/recipe-of.ts";
import type { Recipe, ScalarRecipe } from "../promql/recipe.ts";
import type { PartResult } from "../reads/read-part.ts";
import { gapsOf, type RegionGap } from "../reads/region-status.ts";
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

/** A recipe with two statistics: the events that the metric singles out, and all events. */
type CountingRecipe = Recipe & ScalarRecipe;

type CountedMetric = Pick<QueriedMetric, "aggregation" | "recipe" | "slo">;

/** What is read of a metric: its events, which are parts of its average, or for slices its default aggregation. */
export function countedMetric(metric: MetricConfig, slo: SloConfig): CountedMetric {
  if (slo.over === undefined) return { aggregation: "avg", recipe: countingRecipe(metric, slo), slo: slo.name };
  const { defaultAggregation } = metric;
  return { aggregation: defaultAggregation, recipe: recipeOf(metric, defaultAggregation) };
}

/**
 * Counts the events of an objective by the same partials as queries of its metric.
 *
 * @throws TypeError for a source that no catalog accepts for an objective
 */
export function countingRecipe(metric: MetricConfig, { threshold }: SloConfig): CountingRecipe {
  if (metric.source.kind === "ratio") {
    const base = recipeOf(metric, "avg");
    if (base.kind === "scalar") return base;
  }
  if (threshold === undefined) throw new TypeError(`${metric.id} is no metric of events`);
  return eventFractionRecipe(metric, threshold);
}
