import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
import { fractionRecipe } from "../promql/kinds/events.ts";
import { recipeOf } from "../promql/kinds/recipe-of.ts";
import type { Recipe, ScalarRecipe } from "../promql/kinds/recipe.ts";

/** A recipe with two statistics: the events that the metric singles out, and all events. */
type CountingRecipe = Recipe & ScalarRecipe;

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
  return fractionRecipe(metric, threshold);
}
