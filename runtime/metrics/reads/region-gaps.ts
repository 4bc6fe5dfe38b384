import type { RegionReason } from "../../../api/queries.ts";
import type { MissingPart } from "../merge/merge-scalars.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import type { PartResult } from "./read-part.ts";

/** A reason and its region. */
export interface RegionGap {
  readonly region: string;
  readonly reason: RegionReason;
}

/** Least samples that a point has had time for when it lacks a part: an increase needs two of them. */
const samplesMin = 2;

/**
 * The reasons for the parts that the stores of one metric lack. A point that has just begun gives none: its first
 * samples may have arrived between the reads of two parts.
 */
export function gapsOf(
  missing: readonly MissingPart[],
  parts: readonly Pick<PlannedPart, "store" | "metric">[],
  plan: Plan,
): readonly RegionGap[] {
  const gaps: RegionGap[] = [];
  for (const { store, lacks, points } of missing) {
    const part = parts[store];
    if (part === undefined || !isReported(points, part, plan)) continue;
    const { region } = part.store.config;
    const metric = part.metric.entry.metric.id;
    const found = `a store of ${region} has a part of ${metric} but no ${lacks}`;
    const detail = `${found}; the points without it leave this store out`;
    gaps.push({ region, reason: { metric, code: "part_missing", detail } });
  }
  return uniqueGaps(gaps);
}

/** Leaves out gaps that were given before. */
export function uniqueGaps(gaps: readonly RegionGap[]): readonly RegionGap[] {
  return [...new Map(gaps.map((gap) => [gap.reason.detail, gap])).values()];
}

function isReported(points: Uint8Array, { store }: Pick<PlannedPart, "store">, { grid, query, nowMs }: Plan): boolean {
  const first = points.indexOf(1);
  const beginsMs = grid.startMs + first * grid.stepMs - query.window.widthSeconds * 1_000;
  return first !== -1 && nowMs - beginsMs >= samplesMin * store.intervalSeconds * 1_000;
}

/**
 * Hints about metrics of which no store has a series, and about values that are not a number. JSON cannot represent
 * those, so that their points are left out.
 *
 * @param hasSeries tests if the result has a series of the metric
 */
export function resultHints(
  { metrics, filters }: Pick<Query, "metrics" | "filters">,
  results: readonly PartResult[],
  hasSeries: (metric: string) => boolean,
): readonly string[] {
  // Filters of other labels may match nothing.
  const isOfAll = [...filters.keys()].every((label) => ["tenant", "region", "environment"].includes(label));
  return metrics.flatMap((metric) => {
    const { id } = metric.entry.metric;
    const own = results.filter(({ part }) => part.metric === metric);
    if (own.length === 0) return [];
    if (isEmpty(own)) {
      if (!isOfAll) return [];
      return [
        `${id}: no store has a series of it for this time; if that stays so, compare the name and ` +
          "the kind of its series in the catalog with those of the stores",
      ];
    }
    const { nan, infinite } = metric.recipe.kind === "scalar" ? countOdd(own) : { nan: 0, infinite: 0 };
    const odd = hasSeries(id) ? nan : nan + infinite;
    if (odd === 0) return [];
    const are = odd === 1 ? "is" : "are";
    return [`${id}: points that are no number are left out; of the values of its stores ${odd} ${are} NaN or infinite`];
  });
}

function isEmpty(results: readonly PartResult[]): boolean {
  return results.every(
    ({ ranges, histograms }) => histograms.length + ranges.flatMap((one) => one.series).length === 0,
  );
}

/** It loops by index, because it reads every value of the stores. */
function countOdd(results: readonly PartResult[]): { readonly nan: number; readonly infinite: number } {
  let [nan, infinite] = [0, 0];
  for (const { values, present } of results.flatMap(({ ranges }) => ranges.flatMap(({ series }) => series))) {
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index] ?? 0;
      if (present[index] !== 1 || Number.isFinite(value)) continue;
      if (Number.isNaN(value)) nan += 1;
      else infinite += 1;
    }
  }
  return { nan, infinite };
}
