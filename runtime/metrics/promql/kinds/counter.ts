import type { Aggregation, SourceConfig } from "../../../../crds/config.ts";
import type { RecipeOrAdvice, ScalarMerge } from "./recipe.ts";
import { increaseNeeds, increaseStatistic } from "./statistics.ts";

type CounterSource = Extract<SourceConfig, { readonly kind: "counter" }>;

const meanings: Readonly<Partial<Record<Aggregation, string>>> = {
  sum: "increase over the point",
  avg: "increase / seconds of the point: a rate per second of all series together, not an average over series",
  min: "the least increase of one series over the point",
  max: "the greatest increase of one series over the point",
};

/**
 * The recipes of a counter. sum is its increase over the width of the point, and avg is that per second. min and max
 * are the extremes of the single series.
 */
export function counterRecipe(source: CounterSource, aggregation: Aggregation): RecipeOrAdvice {
  const recipe = (merge: ScalarMerge, perSecond: boolean): RecipeOrAdvice => ({
    kind: "scalar",
    statistics: [increaseStatistic(source, source.increase, { name: "increase", merge })],
    value: meanings[aggregation] ?? "",
    finish: (merged, windowSeconds) =>
      perSecond ? (merged[0] ?? Number.NaN) / windowSeconds : (merged[0] ?? Number.NaN),
    dated: (scope) => scope.select(source),
    exemplified: (scope) => scope.select(source),
    needs: increaseNeeds(source.increase),
  });
  switch (aggregation) {
    case "sum":
      return recipe("sum", false);
    case "avg":
      return recipe("sum", true);
    case "min":
    case "max":
      return recipe(aggregation, false);
    case "p50":
    case "p95":
    case "p99":
      return {
        kind: "advice",
        advice: `a counter has no ${aggregation}, because a percentile needs a histogram; use sum, avg, min or max`,
      };
    default:
      return aggregation satisfies never;
  }
}
