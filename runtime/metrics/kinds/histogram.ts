import type { Aggregation, SourceConfig } from "../../../crds/config.ts";
import { quantiles } from "./percentiles.ts";
import type { RecipeOrAdvice, Statistic } from "./recipe.ts";
import { increaseNeeds, increaseOf, increaseStatistic } from "./statistics.ts";

type HistogramSource = Extract<SourceConfig, { readonly kind: "histogram" }>;

/**
 * A classic histogram. A percentile is one quantile of the buckets' summed increases; avg is Σ sum / Σ count. Source:
 * design §5 rule 9.
 */
export function histogramRecipe(source: HistogramSource, aggregation: Aggregation): RecipeOrAdvice {
  const shared = {
    dated: (scope) => scope.select(source, "_count"),
    exemplified: (scope) => scope.select(source, "_bucket"),
    needs: increaseNeeds(source.increase),
  } satisfies Partial<RecipeOrAdvice>;
  const part = (name: "sum" | "count"): Statistic =>
    increaseStatistic(source, source.increase, { name, merge: "sum", suffix: `_${name}` });
  switch (aggregation) {
    case "p50":
    case "p95":
    case "p99":
      return {
        kind: "quantile",
        histogram: "Classic",
        buckets: (scope) => ({
          kind: "aggregate",
          op: "sum",
          by: [...scope.by, "le"],
          of: increaseOf(scope, source, source.increase, "_bucket"),
        }),
        quantile: quantiles[aggregation],
        ...shared,
      };
    case "avg": {
      const finish = ([sum = Number.NaN, count = Number.NaN]: readonly number[]): number => sum / count;
      return { kind: "scalar", statistics: [part("sum"), part("count")], finish, ...shared };
    }
    case "sum":
      return { kind: "scalar", statistics: [part("sum")], finish: ([sum = Number.NaN]) => sum, ...shared };
    case "min":
    case "max":
      return { kind: "advice", advice: `a histogram does not know its ${aggregation}; ask p50, p95, p99, avg or sum` };
    default:
      return aggregation satisfies never;
  }
}
