import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
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

function newestOf({ newestMs, ranges, histograms }: PartResult, { grid, query }: Plan): number | undefined {
  if (newestMs !== undefined) return newestMs;
  // The sample lies in the last present point. Its start is the earliest time, so that the age is never too low.
  const indexes = [
    ...ranges.map(lastPresent),
    ...histograms.map((series) => series.histograms.findLastIndex((histogram) => histogram !== undefined)),
  ];
  const last = indexes.reduce((a, b) => Math.max(a, b), -1);
  return last < 0 ? undefined : grid.startMs + last * grid.stepMs - query.window.widthSeconds * 1_000;
}

/** The index of the last present point of all series; -1 without one. It reads as few pieces as it can. */
function lastPresent(range: PartResult["ranges"][number]): number {
  const lastOf = (series: readonly StoreSeries[]): number =>
    series.reduce((last, { present }) => Math.max(last, present.lastIndexOf(1)), -1);
  if (range.pieces === undefined) return lastOf(range.series);
  for (const { offset, count, cut } of range.pieces.toReversed()) {
    const last = lastOf(cut(0, count));
    if (last !== -1) return offset + last;
  }
  return -1;
}
