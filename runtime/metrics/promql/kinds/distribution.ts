import type { Aggregation } from "../../../../crds/config.ts";
import { quantiles } from "./percentiles.ts";
import type { QuantileRecipe, Recipe, RecipeOrAdvice, Statistic } from "./recipe.ts";
import { quotient } from "./statistics.ts";

/** The differences between the two kinds of histogram. */
interface Distribution
  extends Pick<QuantileRecipe, "histogram" | "buckets">, Pick<Recipe, "dated" | "exemplified" | "needs"> {
  /** The sum or the count of the histograms; both add up over stores. */
  readonly part: (name: "sum" | "count") => Statistic;
  /** The sum for an average: absent where the sum and the count are of other samples. @default the sum */
  readonly summand?: Statistic;
}

/** The recipes of both kinds of histogram. A percentile is one quantile of merged buckets; avg is Σ sum / Σ count. */
export function distributionRecipe(
  { histogram, buckets, part, summand = part("sum"), ...shared }: Distribution,
  aggregation: Aggregation,
): RecipeOrAdvice {
  switch (aggregation) {
    case "p50":
    case "p95":
    case "p99":
      return { kind: "quantile", histogram, buckets, quantile: quantiles[aggregation], ...shared };
    case "avg":
      return {
        kind: "scalar",
        statistics: [summand, part("count")],
        value: "sum / count: the average of all observations of the point",
        finish: quotient,
        ...shared,
      };
    case "sum":
      return {
        kind: "scalar",
        statistics: [part("sum")],
        value: "the sum of all values observed in the point, not their number",
        finish: (merged) => merged[0] ?? Number.NaN,
        ...shared,
      };
    case "min":
    case "max":
      return { kind: "advice", advice: `a histogram has no ${aggregation}; use p50, p95, p99, avg or sum` };
    default:
      return aggregation satisfies never;
  }
}
