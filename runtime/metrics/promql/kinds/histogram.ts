import type { Aggregation, SeriesConfig, SourceConfig } from "../../../../crds/config.ts";
import { boundLabel, type Vector } from "../promql.ts";
import { distributionRecipe } from "./distribution.ts";
import type { RecipeOrAdvice, Statistic, StoreScope } from "./recipe.ts";
import { covered, increaseNeeds, increaseOf, increaseStatistic, samplesOf, samplesTolerance } from "./statistics.ts";

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
