import type { Plan } from "../planning/plan.ts";
import type { PartResult } from "./read-part.ts";

/**
 * The age of the data in whole seconds: the age of the newest sample of each part, and of these the greatest. Parts
 * without a series of the query do not count; undefined without any sample. Source: seed "Operational Metrics API" §6.
 */
export function freshnessSeconds(results: readonly PartResult[], plan: Plan, nowMs: number): number | undefined {
  const newest = results.map((result) => newestOf(result, plan)).filter((ms) => ms !== undefined);
  return newest.length === 0 ? undefined : Math.max(0, Math.ceil((nowMs - Math.min(...newest)) / 1_000));
}

/** An age some seconds later. */
export function later(seconds: number | undefined, passedSeconds: number): number | undefined {
  return seconds === undefined ? undefined : seconds + passedSeconds;
}

function newestOf({ newestMs, ranges, histograms }: PartResult, { grid }: Plan): number | undefined {
  if (newestMs !== undefined) return newestMs;
  // The sample lies in the last present point. Its start is the earliest time, so that the age is never too low.
  const indexes = [
    ...ranges.flatMap((all) => all.map(({ present }) => present.lastIndexOf(1))),
    ...histograms.map((series) => series.histograms.findLastIndex((histogram) => histogram !== undefined)),
  ];
  const last = indexes.reduce((a, b) => Math.max(a, b), -1);
  return last < 0 ? undefined : grid.startMs + (last - 1) * grid.stepMs;
}
