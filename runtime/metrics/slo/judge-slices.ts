// Objectives of gauges: the values of a metric over slices of time are good, bad or missing.
import type { SliceCondition } from "../../../crds/config.ts";
import { countSlices } from "../request/count-slices.ts";
import { mergeMetric } from "../merge/merge.ts";
import type { Plan } from "../planning/plan.ts";
import type { Recipe } from "../promql/recipe.ts";
import type { PartResult } from "../reads/read-part.ts";
import { gapsOf, type RegionGap } from "../reads/region-status.ts";
import type { ResolvedWindow } from "../request/window.ts";
import type { EventCounts } from "./slo-status.ts";

/** The slices of a window: points that are as wide as their step. @param toMs a multiple of the slices */
export function sliceWindow({ sliceSeconds }: SliceCondition, toMs: number, seconds: number): ResolvedWindow {
  const fromMs = toMs - seconds * 1_000;
  return { fromMs, toMs, stepSeconds: sliceSeconds, widthSeconds: sliceSeconds, downsample: undefined };
}

/** The judged slices of a plan. */
interface JudgedSlices {
  /** The slices of a window, which ends with the slice that ended last by then; undefined if none has a value. */
  readonly countsOf: (endMs: number, seconds: number) => EventCounts | undefined;
  /** Stores without a value in slices that other stores have, and those that lack a part of a value. */
  readonly gaps: readonly RegionGap[];
}

/**
 * Judges the slices of a plan by the values that a query of the metric has over all stores. A slice without a value, or
 * with one that is not a number, is neither good nor bad.
 */
export function judgeSlices(condition: SliceCondition, results: readonly PartResult[], plan: Plan): JudgedSlices {
  const { values, gaps } = mergedValues(results, plan);
  const { startMs, stepMs } = plan.grid;
  const count = countSlices(values, condition);
  return {
    gaps: [...gaps, ...absences(values, results, plan)],
    countsOf(endMs, seconds) {
      const counts = count(Math.floor((endMs - startMs) / stepMs), (seconds * 1_000) / stepMs);
      return counts.total === 0 ? undefined : counts;
    },
  };
}

function mergedValues(results: readonly PartResult[], plan: Plan) {
  const recipe: Recipe | undefined = plan.query.metrics[0]?.recipe;
  if (recipe === undefined) throw new Error("a plan has one metric");
  const merging = mergeMetric(recipe, results, plan);
  let values: Float64Array = new Float64Array(0);
  let next = merging.next();
  // Without groups, all series have the same labels.
  for (; next.done !== true; next = merging.next()) values = next.value.values;
  const parts = results.map(({ part }) => part);
  return { values, gaps: gapsOf(next.value.missing, parts, plan) };
}

/**
 * The stores that lack values which others have: a sum without them is too small. A store without any value is not one
 * of them, since it may have no series of the tenant.
 */
function absences(values: Float64Array, results: readonly PartResult[], plan: Plan): readonly RegionGap[] {
  return results.flatMap(({ part, ranges }): readonly RegionGap[] => {
    const present = ranges.flatMap(({ series }) => series.map((own) => own.present));
    if (present.length === 0) return [];
    let lacking = 0;
    for (const [index, value] of values.entries())
      if (!Number.isNaN(value) && present.every((own) => own[index] !== 1)) lacking += 1;
    if (lacking === 0) return [];
    const { region } = part.store.config;
    const metric = part.metric.entry.metric.id;
    const slices = `${lacking} of ${plan.grid.count} slices`;
    const detail = `a store of ${region} has no value of ${metric} in ${slices}, which other stores have`;
    return [{ region, reason: { metric, code: "part_missing", detail } }];
  });
}
