import type { Aggregation } from "../../../../crds/config.ts";
import { quantiles } from "./percentiles.ts";
import type { QuantileRecipe, Recipe, RecipeOrAdvice, Statistic } from "./recipe.ts";
import { quotient } from "./statistics.ts";

/** What differs between the two kinds of histogram. */
interface Distribution
  extends Pick<QuantileRecipe, "histogram" | "buckets">, Pick<Recipe, "dated" | "exemplified" | "needs"> {
  /** The histograms' sum or count, which add up over stores. */
  readonly part: (name: "sum" | "count") => Statistic;
}

/** The recipes that all histograms share: a percentile is one quantile of merged buckets; avg is Σ sum / Σ count. */
export function distributionRecipe(
  { histogram, buckets, part, ...shared }: Distribution,
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
        statistics: [part("sum"), part("count")],
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
      return { kind: "advice", advice: `a histogram does not know its ${aggregation}; ask p50, p95, p99, avg or sum` };
    default:
      return aggregation satisfies never;
  }
}
