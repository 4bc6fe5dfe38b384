import type { MissingPart } from "../aggregation/complete-parts.ts";
import type { PlannedPart, Plan } from "../planning/plan.ts";

/**
 * Why the data of a region is incomplete for one metric:
 *
 * | Code | Means |
 * | --- | --- |
 * | `part_missing` | a store responded, but has only a part of the metric |
 * | `late`, `failed`, `unsupported` | a store did not return this metric, while the region has others |
 * | `resting` | a store failed repeatedly, so that the query was not sent to it |
 * | `times_rounded` | a store returned the values of other times |
 */
export interface RegionReason {
  readonly metric: string;
  readonly code: "part_missing" | "late" | "failed" | "unsupported" | "resting" | "times_rounded";
  readonly detail: string;
}

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
