// One recipe per kind of metric: its statistics in PromQL, and how they merge. It reads no store.
import type { SeriesConfig } from "../../../../crds/config.ts";
import type { Selector, Vector } from "../promql.ts";

/** The store-specific inputs of a recipe. */
export interface StoreScope {
  /** Selects the series that the query may read in this store, with a suffix on the metric's name. */
  readonly select: (series: SeriesConfig, suffix?: string) => Selector;
  /** The grouping in the label names of the store. */
  readonly by: readonly string[];
  /** Width of one point, in milliseconds. */
  readonly rangeMs: number;
}

/** The operation that merges values of several stores. */
export type ScalarMerge = "sum" | "min" | "max";

/** One mergeable partial, which one range query reads from each store. */
export interface Statistic {
  readonly name: string;
  readonly expr: (scope: StoreScope) => Vector;
  readonly merge: ScalarMerge;
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
