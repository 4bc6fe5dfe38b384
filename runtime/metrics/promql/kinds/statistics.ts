import type { IncreaseKind, SeriesConfig } from "../../../../crds/config.ts";
import type { RangeFunction, Vector } from "../promql.ts";
import type { ScalarMerge, Statistic, StoreNeeds, StoreScope } from "./recipe.ts";

/** `op by(g)(fn(m[w]))` */
export function overStatistic(
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

/** `op by(g)(increase(m[w]))`, of the kind that the source says. */
export function increaseStatistic(
  series: SeriesConfig,
  increase: IncreaseKind,
  options: { readonly name: string; readonly merge: ScalarMerge; readonly suffix?: string },
): Statistic {
  return {
    name: options.name,
    expr: (scope) => ({
      kind: "aggregate",
      op: options.merge,
      by: scope.by,
      of: increaseOf(scope, series, increase, options.suffix),
    }),
    merge: options.merge,
    weighted: false,
    // Not even an anchored one: where a sample is missing for longer than the look-back, the rise over the gap is in
    // the wide point and in none of the narrow ones.
    isAdditiveOverTime: false,
  };
}

/** The first of two statistics by the second. By index: taking lists apart costs more than dividing. */
export function quotient(merged: readonly number[]): number {
  return (merged[0] ?? Number.NaN) / (merged[1] ?? Number.NaN);
}

/** `increase(m[w])`. Source: design §5 rules 5 and 6. */
export function increaseOf(scope: StoreScope, series: SeriesConfig, increase: IncreaseKind, suffix = ""): Vector {
  const of = scope.select(series, suffix);
  return increase === "Anchored"
    ? { kind: "anchoredIncrease", of, rangeMs: scope.rangeMs }
    : { kind: "over", fn: "increase", of, rangeMs: scope.rangeMs };
}

/** What increases of this kind need. */
export function increaseNeeds(increase: IncreaseKind): StoreNeeds {
  return { increases: true, anchored: increase === "Anchored", native: false };
}
