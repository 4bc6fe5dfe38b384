import type { SeriesConfig } from "../../../../crds/config.ts";
import type { Selector, Vector } from "../promql.ts";

/** What a recipe needs to know of the store that it asks. */
export interface StoreScope {
  /** The series of the metric that the query may see in this store, with a suffix on the metric's name. */
  readonly select: (series: SeriesConfig, suffix?: string) => Selector;
  /** The grouping in the store's own label names. */
  readonly by: readonly string[];
  /** Width of one point, in milliseconds. */
  readonly rangeMs: number;
}

/** How the answers of several stores become one. */
export type ScalarMerge = "sum" | "min" | "max";

/** One mergeable partial: what each store is asked for, in one range query. */
export interface Statistic {
  readonly name: string;
  readonly expr: (scope: StoreScope) => Vector;
  readonly merge: ScalarMerge;
  /** Multiply by the store's seconds between samples, so that a store that is scraped more often weighs no more. */
  readonly weighted: boolean;
  /**
   * Whether neighbouring points merge, in the same way as stores do, to exactly the point that covers them all. Source:
   * design §5 rule 11.
   */
  readonly isAdditiveOverTime: boolean;
}

/** An aggregation of numbers. Source: design §5 rules 3, 4, 5, 6, 8 and 9. */
export interface ScalarRecipe {
  readonly kind: "scalar";
  readonly statistics: readonly Statistic[];
  /** What {@link finish} does, by the names of the statistics. */
  readonly value: string;
  /** The value of a point from its merged statistics, in their order. What is not finite is no point. */
  readonly finish: (merged: readonly number[], windowSeconds: number) => number;
}

/** A percentile: buckets are merged, one quantile is taken at the end. Source: design §5 rules 9 and 10. */
export interface QuantileRecipe {
  readonly kind: "quantile";
  /**
   * `Classic`: cumulative buckets, grouped by `le` besides the query's labels. `Native`: one histogram for each group.
   */
  readonly histogram: "Classic" | "Native";
  readonly buckets: (scope: StoreScope) => Vector;
  readonly quantile: number;
}

/** How one aggregation of one metric is asked, merged and finished. */
export type Recipe = (ScalarRecipe | QuantileRecipe) & {
  /** The series whose newest sample dates the data. */
  readonly dated: (scope: StoreScope) => Selector;
  /** The series that carry exemplars. */
  readonly exemplified: (scope: StoreScope) => Selector;
  readonly needs: StoreNeeds;
};

/** What stores must be able to do. */
export interface StoreNeeds {
  /** Increases, which stores compute by different rules. Source: design §5 rule 5. */
  readonly increases: boolean;
  /** Anchored ranges. Source: design §5 rule 6. */
  readonly anchored: boolean;
  /** Native histograms. Source: design §5 rule 10. */
  readonly native: boolean;
}

/** A recipe, or what to ask instead in the words of a caller. */
export type RecipeOrAdvice = Recipe | { readonly kind: "advice"; readonly advice: string };
