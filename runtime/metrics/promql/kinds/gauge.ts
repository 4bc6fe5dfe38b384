import type { Aggregation, SourceConfig } from "../../../../crds/config.ts";
import type { Selector } from "../promql.ts";
import type { RecipeOrAdvice, Statistic, StoreScope } from "./recipe.ts";
import { overStatistic, quotient } from "./statistics.ts";

type GaugeSource = Extract<SourceConfig, { readonly kind: "gauge" }>;

/**
 * The recipes of a gauge. avg is Σ samples / Σ sample count over series, stores and time; sum adds the averages of the
 * series.
 */
export function gaugeRecipe(source: GaugeSource, aggregation: Aggregation): RecipeOrAdvice {
  const select = (scope: StoreScope): Selector => scope.select(source);
  const shared = { dated: select, exemplified: select, needs: { increases: false, anchored: false, native: false } };
  const only = (statistic: Statistic, value = `${statistic.name} of all samples of the point`): RecipeOrAdvice => ({
    kind: "scalar",
    statistics: [statistic],
    value,
    finish: (merged) => merged[0] ?? Number.NaN,
    ...shared,
  });
  switch (aggregation) {
    case "avg":
      return {
        kind: "scalar",
        statistics: [
          overStatistic(source, "sum_over_time", { merge: "sum", weighted: true, isAdditiveOverTime: true }),
          overStatistic(source, "count_over_time", { merge: "sum", weighted: true, isAdditiveOverTime: true }),
        ],
        value: "sum_over_time / count_over_time: every sample counts alike, over series, stores and time",
        finish: quotient,
        ...shared,
      };
    case "min":
      return only(overStatistic(source, "min_over_time", { merge: "min", weighted: false, isAdditiveOverTime: true }));
    case "max":
      return only(overStatistic(source, "max_over_time", { merge: "max", weighted: false, isAdditiveOverTime: true }));
    case "sum":
      return only(
        overStatistic(source, "avg_over_time", { merge: "sum", weighted: false, isAdditiveOverTime: false }),
        "the sum of each series' own average over the point",
      );
    case "p50":
    case "p95":
    case "p99":
      return {
        kind: "advice",
        advice: `a gauge has no ${aggregation}, because a percentile needs a histogram; use avg, sum, min or max`,
      };
    default:
      return aggregation satisfies never;
  }
}
