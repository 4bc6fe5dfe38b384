import type { Merge } from "../../../api/queries.ts";
import type { Aggregation, MetricConfig, SeriesConfig, SourceConfig } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import { histogramRecipe, nativeRecipe } from "./histogram-recipes.ts";
import type { RangeFunction, Selector } from "./promql.ts";
import {
  eventShare,
  increaseNeeds,
  increaseStatistic,
  onlyStatistic,
  quotient,
  type Recipe,
  type RecipeOrAdvice,
  type Statistic,
  type StoreScope,
} from "./recipe.ts";

/**
 * Selects the recipe of one aggregation of one metric.
 *
 * @throws ApiError `invalid_aggregation` with an alternative, where partials of several stores would not compose
 */
export function recipeOf({ id, source }: MetricConfig, aggregation: Aggregation): Recipe {
  const recipe = find(source, aggregation);
  if (recipe.kind === "advice") throw invalidField("invalid_aggregation", "agg", `${id}: ${recipe.advice}`);
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
    finish: onlyStatistic,
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
        value: "sum_over_time / count_over_time: all samples have equal weight across series, stores and time",
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

type CounterSource = Extract<SourceConfig, { readonly kind: "counter" }>;

const meanings: Readonly<Partial<Record<Aggregation, string>>> = {
  sum: "increase over the point",
  avg: "increase / seconds of the point: the per-second rate of all series combined, not an average over series",
  min: "the smallest increase of one series over the point",
  max: "the largest increase of one series over the point",
};

/**
 * The recipes of a counter. sum is its increase over the width of the point, and avg is that per second. min and max
 * are the extremes of the single series.
 */
function counterRecipe(source: CounterSource, aggregation: Aggregation): RecipeOrAdvice {
  const recipe = (merge: Merge, perSecond: boolean): RecipeOrAdvice => ({
    kind: "scalar",
    statistics: [increaseStatistic(source, source.increase, { name: "increase", merge })],
    value: meanings[aggregation] ?? "",
    finish: perSecond ? (merged, windowSeconds) => (merged[0] ?? Number.NaN) / windowSeconds : onlyStatistic,
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

type RatioSource = Extract<SourceConfig, { readonly kind: "ratio" }>;

/** The recipe of a ratio: Σ numerator / Σ denominator, its only exact composition. */
function ratioRecipe(source: RatioSource, aggregation: Aggregation): RecipeOrAdvice {
  if (aggregation !== "avg")
    return { kind: "advice", advice: `a ratio has no ${aggregation}, because ratios do not add up; use avg` };
  return {
    kind: "scalar",
    statistics: [
      increaseStatistic(source.numerator, source.increase, { name: "numerator", merge: "sum", absent: "none" }),
      increaseStatistic(source.denominator, source.increase, { name: "denominator", merge: "sum" }),
    ],
    value: "numerator / denominator; there is no point without observations",
    finish: eventShare,
    dated: (scope) => scope.select(source.denominator),
    exemplified: (scope) => scope.select(source.denominator),
    needs: increaseNeeds(source.increase),
  };
}

/** `op by(g)(fn(m[w]))` */
function overStatistic(
  series: SeriesConfig,
  fn: RangeFunction,
  options: Pick<Statistic, "merge" | "weighted" | "isAdditiveOverTime">,
): Statistic {
  return {
    name: fn,
    expr: (scope) => ({
      kind: "aggregate",
      op: options.merge,
      by: scope.by,
      of: { kind: "over", fn, of: scope.select(series), rangeMs: scope.rangeMs },
    }),
    ...options,
  };
}
