import type { HistogramSeries } from "../../stores/histogram-matrix.ts";
import type { PointGrid, StoreSeries } from "../../stores/matrix.ts";
import { joinHistograms, joinSeries, type ExtentAnswer } from "../extents.ts";

/** What a cache has to know of a kind of series. */
export interface SeriesKind<Series> {
  /** Some neighbouring points of a series; undefined where it has none of them. */
  slice(series: Series, offset: number, count: number): Series | undefined;
  join(answers: readonly ExtentAnswer<Series>[], grid: PointGrid): readonly Series[];
  /** Memory that it takes, roughly. */
  bytes(series: Series): number;
}

/** What a series takes besides its values: labels, keys, objects. */
const seriesBytes = 512;
const bucketBytes = 72;

export const numbers: SeriesKind<StoreSeries> = {
  slice({ labels, values, present }, offset, count) {
    const own = present.subarray(offset, offset + count);
    return own.includes(1) ? { labels, values: values.subarray(offset, offset + count), present: own } : undefined;
  },
  join: joinSeries,
  bytes: ({ values, present }) => seriesBytes + values.byteLength + present.byteLength,
};

export const nativeHistograms: SeriesKind<HistogramSeries> = {
  slice({ labels, histograms }, offset, count) {
    const own = histograms.slice(offset, offset + count);
    return own.some((histogram) => histogram !== undefined) ? { labels, histograms: own } : undefined;
  },
  join: joinHistograms,
  bytes: ({ histograms }) =>
    histograms.reduce((sum, histogram) => sum + bucketBytes * (1 + (histogram?.buckets.length ?? 0)), seriesBytes),
};
