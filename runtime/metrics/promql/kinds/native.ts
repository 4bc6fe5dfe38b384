import type { Aggregation, SourceConfig } from "../../../../crds/config.ts";
import type { Selector, Vector } from "../promql.ts";
import { distributionRecipe } from "./distribution.ts";
import type { RecipeOrAdvice, StoreScope } from "./recipe.ts";

type HistogramSource = Extract<SourceConfig, { readonly kind: "histogram" }>;

/**
 * The recipes of a native histogram: the increases of whole histograms are summed over stores, not over time.
 */
export function nativeRecipe(source: HistogramSource, aggregation: Aggregation): RecipeOrAdvice {
  const select = (scope: StoreScope): Selector => scope.select(source);
  const increase = (scope: StoreScope): Vector => ({
    kind: "aggregate",
    op: "sum",
    by: scope.by,
    of: { kind: "over", fn: "increase", of: select(scope), rangeMs: scope.rangeMs },
  });
  return distributionRecipe(
    {
      histogram: "Native",
      buckets: increase,
      part: (name) => ({
        name,
        expr: (scope) => ({ kind: "histogramPart", fn: `histogram_${name}`, of: increase(scope) }),
        merge: "sum",
        weighted: false,
        isAdditiveOverTime: false,
      }),
      dated: select,
      exemplified: select,
      needs: { increases: true, anchored: false, native: true },
    },
    aggregation,
  );
}
