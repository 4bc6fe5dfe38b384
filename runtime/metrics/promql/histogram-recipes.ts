import type { Aggregation, SeriesConfig, SourceConfig } from "../../../crds/config.ts";
import { boundLabel, type Selector, type Vector } from "./promql.ts";
import {
  covered,
  increaseNeeds,
  increaseOf,
  increaseStatistic,
  onlyStatistic,
  type QuantileRecipe,
  quotient,
  type Recipe,
  type RecipeOrAdvice,
  samplesOf,
  samplesTolerance,
  type Statistic,
  type StoreScope,
} from "./recipe.ts";

/** The bucket that every histogram has. */
const lastBucket = { label: "le", op: "Equal", value: "+Inf" } as const;

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
      buckets: (scope) => bucketsOf(scope, source),
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

/**
 * The increases of the buckets by their bounds, without a bound that some series lack: its cumulative count would leave
 * out their observations.
 */
function bucketsOf(scope: StoreScope, source: HistogramSource): Vector {
  const byBound = (of: Vector): Vector => ({
    kind: "aggregate",
    op: "sum",
    by: [...scope.by, boundLabel],
    of: { kind: "bound", of },
  });
  const samples = (series: SeriesConfig): Vector => ({
    kind: "over",
    fn: "count_over_time",
    of: scope.select(series, "_bucket"),
    rangeMs: scope.rangeMs,
  });
  const last = { ...source, matchers: [...source.matchers, lastBucket] };
  return {
    kind: "covered",
    of: byBound(increaseOf(scope, source, source.increase, "_bucket")),
    part: byBound(samples(source)),
    whole: samplesOf(scope, { series: last, suffix: "_bucket" }),
    wholeBy: scope.by,
    tolerance: samplesTolerance,
  };
}

/**
 * The recipes of a native histogram: the increases of whole histograms are summed over stores, not over time.
 */
export function nativeRecipe(source: HistogramSource, aggregation: Aggregation): RecipeOrAdvice {
  const select = (scope: StoreScope): Selector => scope.select(source);
  const increase = (scope: StoreScope): Vector => nativeIncrease(source, scope);
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

/** The increase of native histograms: one histogram for each group. */
export function nativeIncrease(source: HistogramSource, { by, rangeMs, select }: StoreScope): Vector {
  return { kind: "aggregate", op: "sum", by, of: { kind: "over", fn: "increase", of: select(source), rangeMs } };
}

/** The differences between the two kinds of histogram. */
interface Distribution
  extends Pick<QuantileRecipe, "histogram" | "buckets">, Pick<Recipe, "dated" | "exemplified" | "needs"> {
  /** The sum or the count of the histograms; both add up over stores. */
  readonly part: (name: "sum" | "count") => Statistic;
  /** The sum for an average: absent if the sum and the count are of other samples. @default the sum */
  readonly summand?: Statistic;
}

/** The recipes of both kinds of histogram. A percentile is one quantile of merged buckets; avg is Σ sum / Σ count. */
function distributionRecipe(
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
        finish: onlyStatistic,
        ...shared,
      };
    case "min":
    case "max":
      return { kind: "advice", advice: `a histogram has no ${aggregation}; use p50, p95, p99, avg or sum` };
    default:
      return aggregation satisfies never;
  }
}

/** The quantile of each percentile. Source: seed "Operational Metrics API" §4.1. */
const quantiles = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
