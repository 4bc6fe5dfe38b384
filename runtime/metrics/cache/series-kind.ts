import type { HistogramSeries, StoreHistogram } from "../../stores/prometheus/histogram-matrix.ts";
import type { PointGrid, StoreSeries } from "../../stores/prometheus/matrix.ts";
import { joinHistograms, joinSeries, type SplitResponse } from "../planning/split-interval.ts";

/** What a cache has to know of a kind of series. */
export interface SeriesKind<Series> {
  /** Some neighbouring points of a series; undefined where it has none of them. */
  slice(series: Series, offset: number, count: number): Series | undefined;
  join(answers: readonly SplitResponse<Series>[], grid: PointGrid): readonly Series[];
  /** Memory that it takes, roughly. */
  bytes(series: Series): number;
  /** A series in what JSON can hold, and its numbers as bytes. */
  pack(series: Series): { readonly head: unknown; readonly bytes: readonly Uint8Array[] };
  /**
   * A series of `count` points as it was packed.
   *
   * @param take that many of the bytes that come next
   * @throws Error when it was not
   */
  unpack(head: unknown, count: number, take: (bytes: number) => Uint8Array): Series;
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
  pack: ({ labels, values, present }) => ({
    head: labels,
    bytes: [new Uint8Array(values.buffer, values.byteOffset, values.byteLength), present],
  }),
  unpack(head, count, take) {
    const values = new Float64Array(take(count * Float64Array.BYTES_PER_ELEMENT).buffer as ArrayBuffer);
    return { labels: head as StoreSeries["labels"], values, present: take(count) };
  },
};

/** Numbers as texts, of a bucket after each other. */
type PackedHistogram = readonly [count: string, sum: string, buckets: readonly (readonly [string, string, string])[]];

function packHistogram({ count, sum, buckets }: StoreHistogram): PackedHistogram {
  return [
    String(count),
    String(sum),
    buckets.map((bucket) => [String(bucket.lower), String(bucket.upper), String(bucket.count)]),
  ];
}

function unpackHistogram([count, sum, buckets]: PackedHistogram): StoreHistogram {
  const read = buckets.map(([lower, upper, own]) => ({
    lower: Number(lower),
    upper: Number(upper),
    count: Number(own),
  }));
  return { count: Number(count), sum: Number(sum), buckets: read };
}

export const nativeHistograms: SeriesKind<HistogramSeries> = {
  slice({ labels, histograms }, offset, count) {
    const own = histograms.slice(offset, offset + count);
    return own.some((histogram) => histogram !== undefined) ? { labels, histograms: own } : undefined;
  },
  join: joinHistograms,
  bytes: ({ histograms }) =>
    histograms.reduce((sum, histogram) => sum + bucketBytes * (1 + (histogram?.buckets.length ?? 0)), seriesBytes),
  pack: ({ labels, histograms }) => ({
    // JSON knows neither numbers that are none nor places that are empty.
    head: {
      labels,
      histograms: histograms.map((histogram) => (histogram === undefined ? null : packHistogram(histogram))),
    },
    bytes: [],
  }),
  unpack(head, count) {
    const { labels, histograms } = head as {
      readonly labels: HistogramSeries["labels"];
      readonly histograms: readonly (PackedHistogram | null)[];
    };
    if (histograms.length !== count) throw new Error("the histograms are cut short");
    return { labels, histograms: histograms.map((packed) => (packed === null ? undefined : unpackHistogram(packed))) };
  },
};
