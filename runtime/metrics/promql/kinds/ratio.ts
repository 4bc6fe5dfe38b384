import type { Aggregation, SourceConfig } from "../../../../crds/config.ts";
import type { RecipeOrAdvice } from "./recipe.ts";
import { eventShare, increaseNeeds, increaseStatistic } from "./statistics.ts";

type RatioSource = Extract<SourceConfig, { readonly kind: "ratio" }>;

/** The recipe of a ratio: Σ numerator / Σ denominator, its only exact composition. */
export function ratioRecipe(source: RatioSource, aggregation: Aggregation): RecipeOrAdvice {
  if (aggregation !== "avg") {
    return { kind: "advice", advice: `a ratio has no ${aggregation}, because ratios do not add up; use avg` };
  }
  return {
    kind: "scalar",
    statistics: [
      increaseStatistic(source.numerator, source.increase, { name: "numerator", merge: "sum", absent: "none" }),
      increaseStatistic(source.denominator, source.increase, { name: "denominator", merge: "sum" }),
    ],
    value: "numerator / denominator; where nothing happened there is no point",
    finish: eventShare,
    dated: (scope) => scope.select(source.denominator),
    exemplified: (scope) => scope.select(source.denominator),
    needs: increaseNeeds(source.increase),
  };
}
