import type { PointGrid, StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { Piece } from "../../stores/prometheus/prometheus-client.ts";
import type { PartSeries } from "../aggregation/merge.ts";

type Points = Pick<PartSeries, "ranges" | "histograms">;

/** The end of the last present point; undefined without any. */
export function lastPointMs({ ranges, histograms }: Points, { startMs, stepMs }: PointGrid): number | undefined {
  const indexes = [
    ...ranges.map(lastPresent),
    ...histograms.map((series) => series.histograms.findLastIndex((histogram) => histogram !== undefined)),
  ];
  const last = indexes.reduce((a, b) => Math.max(a, b), -1);
  return last < 0 ? undefined : startMs + last * stepMs;
}

/** The index of the last present point of all series; -1 without one. It reads as few pieces as it can. */
function lastPresent({ pieces, series }: PartSeries["ranges"][number]): number {
  const lastOf = (own: readonly StoreSeries[]): number =>
    own.reduce((last, { present }) => Math.max(last, present.lastIndexOf(1)), -1);
  if (pieces === undefined) return lastOf(series);
  for (const { offset, count, cut } of latestFirst(pieces)) {
    const last = lastOf(cut(0, count));
    if (last !== -1) return offset + last;
  }
  return -1;
}

/** The time at which the last points were read; undefined when they were read now. */
export function lastReadAtMs({ ranges }: Points): number | undefined {
  const times = ranges.flatMap(({ pieces = [] }) => latestFirst(pieces)[0]?.readAtMs ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Cached pieces come before those of a read, whatever their times. */
function latestFirst<Series>(pieces: readonly Piece<Series>[]): readonly Piece<Series>[] {
  return pieces.toSorted((a, b) => b.offset - a.offset);
}
