import type { Aggregation, SourceConfig } from "../../../../crds/config.ts";
import { distributionRecipe } from "./distribution.ts";
import type { RecipeOrAdvice, Statistic } from "./recipe.ts";
import { covered, increaseNeeds, increaseOf, increaseStatistic } from "./statistics.ts";

type HistogramSource = Extract<SourceConfig, { readonly kind: "histogram" }>;

/** The recipes of a classic histogram: the increases of its buckets are summed. */
export function histogramRecipe(source: HistogramSource, aggregation: Aggregation): RecipeOrAdvice {
  const { increase } = source;
  const part = (name: "sum" | "count"): Statistic =>
    increaseStatistic(source, increase, { name, merge: "sum", suffix: `_${name}` });
  const noun = "sum of the same series as its count";
  return distributionRecipe(
    {
      histogram: "Classic",
      buckets: (scope) => ({
        kind: "aggregate",
        op: "sum",
        by: [...scope.by, "le"],
        of: increaseOf(scope, source, increase, "_bucket"),
      }),
      part,
      summand: covered(
        { ...part("sum"), noun },
        { part: { series: source, suffix: "_sum" }, whole: { series: source, suffix: "_count" } },
      ),
      dated: (scope) => scope.select(source, "_count"),
      exemplified: (scope) => scope.select(source, "_bucket"),
      needs: increaseNeeds(increase),
    },
    aggregation,
  );
}
