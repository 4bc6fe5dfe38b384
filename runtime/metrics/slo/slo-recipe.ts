import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
import { eventFractionRecipe } from "../promql/event-recipes.ts";
import { recipeOf } from "../promql/recipe-of.ts";
import type { Recipe, ScalarRecipe } from "../promql/recipe.ts";

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
  return eventFractionRecipe(metric, threshold);
}
