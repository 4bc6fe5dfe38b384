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

/** A statistic of the part of a histogram, absent where the part and the whole have other samples. */
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
