import type { Plan } from "../planning/plan.ts";
import type { PartResult } from "./read-part.ts";

/**
 * Age of the data in whole seconds: that of the newest sample really seen, and, where several stores or metrics were
 * read, of the oldest of those, since the answer is no fresher than its stalest part. A store that holds no series of
 * the query has no part in it; undefined without any sample. Source: seed "Operational Metrics API" §6.
 */
export function freshnessSeconds(answers: readonly PartResult[], plan: Plan, nowMs: number): number | undefined {
  const newest = answers.map((answer) => newestOf(answer, plan)).filter((ms) => ms !== undefined);
  return newest.length === 0 ? undefined : Math.max(0, Math.ceil((nowMs - Math.min(...newest)) / 1_000));
}

/** An age some seconds later. */
export function later(seconds: number | undefined, passedSeconds: number): number | undefined {
  return seconds === undefined ? undefined : seconds + passedSeconds;
}

function newestOf({ newestMs, ranges, histograms }: PartResult, { grid }: Plan): number | undefined {
  if (newestMs !== undefined) return newestMs;
  // Somewhere in the last point that has a value, so at the earliest at its begin: never said fresher than it is.
  const indexes = [
    ...ranges.flatMap((all) => all.map(({ present }) => present.lastIndexOf(1))),
    ...histograms.map((series) => series.histograms.findLastIndex((histogram) => histogram !== undefined)),
  ];
  const last = indexes.reduce((a, b) => Math.max(a, b), -1);
  return last < 0 ? undefined : grid.startMs + (last - 1) * grid.stepMs;
}
