import type { DryRun } from "../../api/replays.ts";
import { formatNumber } from "../components/format.ts";

/** How many deliveries a replay would publish, by its dry run. */
export function publishedBy({ matched, in_progress, too_old }: DryRun): number {
  return Math.max(0, matched - in_progress - too_old);
}

/** What a dry run says besides its count. */
export function notesOf({ in_progress, too_old, missing, complete }: DryRun): readonly string[] {
  return [
    ...(in_progress > 0 ? [`${deliveries(in_progress)} in progress: left as they are.`] : []),
    ...(too_old > 0 ? [`${deliveries(too_old)} too old: the partner may have forgotten their ids.`] : []),
    ...(missing > 0 ? [`${formatNumber(missing)} events are not stored any more.`] : []),
    ...(complete ? [] : ["There are more than a dry run counts; the replay takes those too."]),
  ];
}

/** A number of deliveries in words. */
export function deliveries(count: number): string {
  return count === 1 ? "1 delivery" : `${formatNumber(count)} deliveries`;
}
