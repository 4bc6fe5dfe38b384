// One recipe per kind of metric: its statistics in PromQL, and how they merge. It reads no store.
import type { Merge } from "../../../api/queries.ts";
import type { IncreaseKind, SeriesConfig } from "../../../crds/config.ts";
import type { Selector, Vector } from "./promql.ts";

/** The store-specific inputs of a recipe. */
export interface StoreScope {
  /** Selects the series that the query may read in this store, with a suffix on the metric's name. */
  readonly select: (series: SeriesConfig, suffix?: string) => Selector;
  /** The grouping in the label names of the store. */
  readonly by: readonly string[];
  /** Width of one point, in milliseconds. */
  readonly rangeMs: number;
}

/** One mergeable partial, which one range query reads from each store. */
export interface Statistic {
  readonly name: string;
  readonly expr: (scope: StoreScope) => Vector;
  readonly merge: Merge;
  /** Multiplies values by the store's seconds between samples, so that the scrape interval has no weight. */
  readonly weighted: boolean;
  /** True when adjacent points merge like stores to exactly the point that covers them. */
  readonly isAdditiveOverTime: boolean;
  /**
   * The events of a store that has the other statistics of a point without this one: `none` for events that do not
   * exist until the first one happens, such as errors.
   *
   * @default unknown, so that the store adds nothing to the point
   */
  readonly absent?: "none";
  /** Names this statistic in a sentence on a store that lacks it. @default the name */
  readonly noun?: string;
}

/** An aggregation of numbers. */
export interface ScalarRecipe {
  readonly kind: "scalar";
  readonly statistics: readonly Statistic[];
  /** Describes {@link finish} by the names of the statistics. */
  readonly value: string;
  /** Computes the value of a point from its merged statistics, in their order. It can be infinite; NaN is a gap. */
  readonly finish: (merged: readonly number[], windowSeconds: number) => number;
}

/** A percentile: buckets are merged, then one quantile is taken. */
export interface QuantileRecipe {
  readonly kind: "quantile";
  /**
   * `Classic`: cumulative buckets, grouped by `le` besides the query's labels. `Native`: one histogram for each group.
   */
  readonly histogram: "Classic" | "Native";
  readonly buckets: (scope: StoreScope) => Vector;
  readonly quantile: number;
}

/** The reads, the merge and the last computation of one aggregation of one metric. */
export type Recipe = (ScalarRecipe | QuantileRecipe) & {
  /** The series whose newest sample dates the data. */
  readonly dated: (scope: StoreScope) => Selector;
  /** The series that carry exemplars. */
  readonly exemplified: (scope: StoreScope) => Selector;
  readonly needs: StoreNeeds;
};

/** The capabilities that stores need. */
export interface StoreNeeds {
  /** Increases, which stores compute by different rules. */
  readonly increases: boolean;
  /** Anchored ranges. */
  readonly anchored: boolean;
  /** Native histograms. */
  readonly native: boolean;
}

/** A recipe, or the reason without one and an alternative. */
export type RecipeOrAdvice = Recipe | { readonly kind: "advice"; readonly advice: string };

/** `op by(g)(increase(m[w]))`, of the kind of the source. */
export function increaseStatistic(
  series: SeriesConfig,
  increase: IncreaseKind,
  {
    suffix,
    ...options
  }: Pick<Statistic, "name" | "absent" | "noun"> & { readonly merge: Merge; readonly suffix?: string },
): Statistic {
  return {
    ...options,
    expr: (scope) => ({
      kind: "aggregate",
      op: options.merge,
      by: scope.by,
      of: increaseOf(scope, series, increase, suffix),
    }),
    weighted: false,
    // This holds for anchored increases too. Where samples are missing for longer than the look-back, only the wide
    // point includes the rise over the gap.
    isAdditiveOverTime: false,
  };
}

/** Series of a source, with a suffix on their name. */
interface SuffixedSeries {
  readonly series: SeriesConfig;
  readonly suffix: string;
}

/** The number of samples of each group. */
export function samplesOf({ by, rangeMs, select }: StoreScope, { series, suffix }: SuffixedSeries): Vector {
  const of = select(series, suffix);
  return { kind: "aggregate", op: "sum", by, of: { kind: "over", fn: "count_over_time", of, rangeMs } };
}

/**
 * Greatest difference of the numbers of samples of two parts of a histogram. A series without one of the parts, or
 * samples from before it was added, would count against the other part. Above 0, because a store that removes
 * duplicates can lack single samples of one part.
 */
export const samplesTolerance = 0.0001;

/** A statistic of the part of a histogram, absent if the part and the whole have other samples. */
export function covered(
  statistic: Statistic,
  { part, whole }: { readonly part: SuffixedSeries; readonly whole: SuffixedSeries },
): Statistic {
  return {
    ...statistic,
    expr: (scope) => ({
      kind: "covered",
      of: statistic.expr(scope),
      part: samplesOf(scope, part),
      whole: samplesOf(scope, whole),
      tolerance: samplesTolerance,
    }),
  };
}

/** The only statistic itself. A merge copies its points without a call for each of them. */
export function onlyStatistic(merged: readonly number[]): number {
  return merged[0] ?? Number.NaN;
}

/**
 * Divides the first of two statistics by the second; NaN if the second is 0. It reads by index, because destructuring
 * costs more.
 */
export function quotient(merged: readonly number[]): number {
  return merged[1] === 0 ? Number.NaN : (merged[0] ?? Number.NaN) / (merged[1] ?? Number.NaN);
}

/** Divides the first of two numbers of events by the second; NaN unless the share is finite. */
export function eventShare(merged: readonly number[]): number {
  const share = quotient(merged);
  return Number.isFinite(share) ? share : Number.NaN;
}

/** `increase(m[w])`. */
export function increaseOf(scope: StoreScope, series: SeriesConfig, increase: IncreaseKind, suffix = ""): Vector {
  const of = scope.select(series, suffix);
  return increase === "Anchored"
    ? { kind: "anchoredIncrease", of, rangeMs: scope.rangeMs }
    : { kind: "over", fn: "increase", of, rangeMs: scope.rangeMs };
}

/** The needs of increases of this kind. */
export function increaseNeeds(increase: IncreaseKind): StoreNeeds {
  return { increases: true, anchored: increase === "Anchored", native: false };
}
