import type { Aggregation, SourceConfig } from "../../../crds/config.ts";
import type { Selector, Vector } from "../promql.ts";
import { quantiles } from "./percentiles.ts";
import type { RecipeOrAdvice, Statistic, StoreScope } from "./recipe.ts";

type HistogramSource = Extract<SourceConfig, { readonly kind: "histogram" }>;

/**
 * A native histogram. A percentile is one quantile of the histograms' summed increases; avg is Σ sum / Σ count. Over stores
 * only, never over time. Source: design §5 rule 10.
 */
export function nativeRecipe(source: HistogramSource, aggregation: Aggregation): RecipeOrAdvice {
  const select = (scope: StoreScope): Selector => scope.select(source);
  const shared = { dated: select, exemplified: select, needs: { increases: true, anchored: false, native: true } };
  const increase = (scope: StoreScope): Vector => ({
    kind: "aggregate",
    op: "sum",
    by: scope.by,
    of: { kind: "over", fn: "increase", of: select(scope), rangeMs: scope.rangeMs },
  });
  const part = (name: "sum" | "count"): Statistic => ({
    name,
    expr: (scope) => ({ kind: "histogramPart", fn: `histogram_${name}`, of: increase(scope) }),
    merge: "sum",
    weighted: false,
    isAdditiveOverTime: false,
  });
  switch (aggregation) {
    case "p50":
    case "p95":
    case "p99":
      return { kind: "quantile", histogram: "Native", buckets: increase, quantile: quantiles[aggregation], ...shared };
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
