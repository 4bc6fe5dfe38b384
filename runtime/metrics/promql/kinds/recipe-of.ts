import type { Aggregation, MetricConfig } from "../../../../crds/config.ts";
import { refuseField } from "../../../errors/refusal.ts";
import { counterRecipe } from "./counter.ts";
import { gaugeRecipe } from "./gauge.ts";
import { histogramRecipe } from "./histogram.ts";
import { nativeRecipe } from "./native.ts";
import { ratioRecipe } from "./ratio.ts";
import type { Recipe, RecipeOrAdvice } from "./recipe.ts";

/**
 * Selects the recipe of one aggregation of one metric.
 *
 * @throws Refusal `invalid_aggregation` with an alternative, where partials of several stores would not compose
 */
export function recipeOf({ id, source }: MetricConfig, aggregation: Aggregation): Recipe {
  const recipe = find(source, aggregation);
  if (recipe.kind === "advice") throw refuseField("invalid_aggregation", "agg", `${id}: ${recipe.advice}`);
  return recipe;
}

function find(source: MetricConfig["source"], aggregation: Aggregation): RecipeOrAdvice {
  switch (source.kind) {
    case "gauge":
      return gaugeRecipe(source, aggregation);
    case "counter":
      return counterRecipe(source, aggregation);
    case "ratio":
      return ratioRecipe(source, aggregation);
    case "histogram":
      return source.type === "Native" ? nativeRecipe(source, aggregation) : histogramRecipe(source, aggregation);
    default:
      return source satisfies never;
  }
}
