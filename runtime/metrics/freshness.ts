import type { Plan } from "./plan.ts";
import type { StoreAnswer } from "./read-part.ts";

/**
 * Age of the data in whole seconds: that of the newest sample really seen, and, where several stores or metrics were
 * read, of the oldest of those, since the answer is no fresher than its stalest part. A store that holds no series of
 * the query has no part in it; without any sample, the age of the whole window. Source: seed "Operational Metrics
 * API" §6.
 */
export function freshnessSeconds(answers: readonly StoreAnswer[], plan: Plan, nowMs: number): number {
  const newest = answers.map((answer) => newestOf(answer, plan)).filter((ms) => ms !== undefined);
  const oldest = newest.length === 0 ? plan.query.window.fromMs : Math.min(...newest);
  return Math.max(0, Math.ceil((nowMs - oldest) / 1_000));
}

function newestOf({ newestMs, ranges, histograms }: StoreAnswer, { grid }: Plan): number | undefined {
  if (newestMs !== undefined) return newestMs;
  // Somewhere in the last point that has a value, so at the earliest at its begin: never said fresher than it is.
  const indexes = [
    ...ranges.flatMap((all) => all.map(({ present }) => present.lastIndexOf(1))),
    ...histograms.map((series) => series.histograms.findLastIndex((histogram) => histogram !== undefined)),
  ];
  const last = indexes.reduce((a, b) => Math.max(a, b), -1);
  return last < 0 ? undefined : grid.startMs + (last - 1) * grid.stepMs;
}
