import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
import { recipeOf } from "../promql/kinds/recipe-of.ts";
import type { Recipe, ScalarRecipe } from "../promql/kinds/recipe.ts";
import { increaseStatistic } from "../promql/kinds/statistics.ts";
import { boundPattern } from "./bound-spellings.ts";

/** A recipe with two statistics: the events that the metric singles out, and all events. */
type CountingRecipe = Recipe & ScalarRecipe;

/**
 * Counts the events of an objective by the same partials as queries of its metric. Source: design §5 rules 8 and 9.
 *
 * @throws TypeError for a source that no catalog accepts for an objective
 */
export function countingRecipe(metric: MetricConfig, { threshold }: SloConfig): CountingRecipe {
  const { source } = metric;
  const base = recipeOf(metric, "avg");
  if (source.kind === "ratio" && base.kind === "scalar") return base;
  if (source.kind !== "histogram" || base.kind !== "scalar" || threshold === undefined) {
    throw new TypeError(`${metric.id} is no metric of events`);
  }
  const bucket = {
    ...source,
    matchers: [...source.matchers, { label: "le", op: "Matches" as const, value: boundPattern(threshold) }],
  };
  return {
    ...base,
    statistics: [
      increaseStatistic(bucket, source.increase, { name: "up to the threshold", merge: "sum", suffix: "_bucket" }),
      increaseStatistic(source, source.increase, { name: "count", merge: "sum", suffix: "_count" }),
    ],
  };
}
