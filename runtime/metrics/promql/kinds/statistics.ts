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

/** `op by(g)(increase(m[w]))`, of the kind of the source. */
export function increaseStatistic(
  series: SeriesConfig,
  increase: IncreaseKind,
  {
    suffix,
    ...options
  }: Pick<Statistic, "name" | "absent" | "noun"> & { readonly merge: ScalarMerge; readonly suffix?: string },
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

/** Divides the first of two statistics by the second. It reads by index, because destructuring costs more. */
export function quotient(merged: readonly number[]): number {
  return (merged[0] ?? Number.NaN) / (merged[1] ?? Number.NaN);
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
