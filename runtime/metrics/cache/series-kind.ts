import {
  gravest,
  type HistogramSeries,
  type PointGrid,
  type StoreHistogram,
  type StoreSeries,
} from "../../stores/prometheus/matrix.ts";
import { joinedLater, type RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import type { RangeSplit } from "../planning/plan.ts";
import type { ExtentRun } from "./extents.ts";

/** The operations of a cache on one kind of series. */
export interface SeriesKind<Series> {
  /** Names the kind in messages between pods. */
  readonly name: "numbers" | "native histograms";
  /** Cuts adjacent points out of a series; undefined without any present point among them. */
  slice(series: Series, offset: number, count: number): Series | undefined;
  join(responses: readonly SplitResponse<Series>[], grid: PointGrid): readonly Series[];
  /** Estimates the size of a series in memory. */
  bytes(series: Series): number;
  /** Encodes a series as a value for JSON and its numbers as bytes. */
  pack(series: Series): { readonly head: unknown; readonly bytes: readonly Uint8Array[] };
  /**
   * Decodes a packed series of `count` points.
   *
   * @param take returns the next bytes, as many as it is given
   * @throws Error when it was packed in another way
   */
  unpack(head: unknown, count: number, take: (bytes: number) => Uint8Array): Series;
}

/** The function that cuts points out of a run. It counts them from the first point of the run. */
export function cutterOf<Series>(
  kind: SeriesKind<Series>,
  { extent, offset }: ExtentRun<Series>,
  { startMs, stepMs }: PointGrid,
): (first: number, count: number) => readonly Series[] {
  const begin = Math.round((startMs - extent.startMs) / stepMs) + offset;
  return (first, count) =>
    begin + first === 0 && count === extent.count
      ? extent.series
      : extent.series.flatMap((one) => kind.slice(one, begin + first, count) ?? []);
}

/** Estimated bytes of a series besides its values: labels, keys, objects. */
const seriesBytes = 512;
const bucketBytes = 72;

export const numberSeries: SeriesKind<StoreSeries> = {
  name: "numbers",
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

/** A native histogram with its numbers as texts. */
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

export const histogramSeries: SeriesKind<HistogramSeries> = {
  name: "native histograms",
  slice({ labels, histograms }, offset, count) {
    const own = histograms.slice(offset, offset + count);
    return own.some((histogram) => histogram !== undefined) ? { labels, histograms: own } : undefined;
  },
  join: joinHistograms,
  bytes: ({ histograms }) =>
    histograms.reduce((sum, histogram) => sum + bucketBytes * (1 + (histogram?.buckets.length ?? 0)), seriesBytes),
  pack: ({ labels, histograms }) => ({
    // JSON has neither NaN nor empty places.
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

/** The series of one split. */
export interface SplitResponse<Series> {
  readonly split: RangeSplit;
  readonly series: readonly Series[];
}

/** Joins the series of all splits to series over the whole grid. */
export function joinSeries(
  responses: readonly SplitResponse<StoreSeries>[],
  { count }: PointGrid,
): readonly StoreSeries[] {
  if (responses.length === 1) return responses[0]?.series ?? [];
  return join(responses, {
    make: (labels) => ({ labels, values: new Float64Array(count), present: new Uint8Array(count) }),
    put: (whole, part, offset) => {
      whole.values.set(part.values, offset);
      whole.present.set(part.present, offset);
    },
  });
}

/** Joins native histograms as {@link joinSeries} joins numbers. */
export function joinHistograms(
  responses: readonly SplitResponse<HistogramSeries>[],
  { count }: PointGrid,
): readonly HistogramSeries[] {
  if (responses.length === 1) return responses[0]?.series ?? [];
  return join<HistogramSeries, HistogramSeries & { readonly histograms: (StoreHistogram | undefined)[] }>(responses, {
    make: (labels) => ({ labels, histograms: Array.from({ length: count }) }),
    put: (whole, part, offset) => {
      for (const [index, histogram] of part.histograms.entries()) whole.histograms[offset + index] = histogram;
    },
  });
}

interface SplitRead<Series> {
  readonly split: RangeSplit;
  readonly result: RangeResult<Series>;
}

/** One result over all splits, joined when its series are read. */
export function joinSplits<Series>(
  reads: readonly SplitRead<Series>[],
  joinOwn: (own: readonly SplitResponse<Series>[]) => readonly Series[],
): RangeResult<Series> {
  const hasPieces = reads.every(({ result }) => result.pieces !== undefined);
  const pieces = reads.flatMap(({ split, result }) =>
    (result.pieces ?? []).map((piece) => ({ ...piece, offset: split.offset + piece.offset })),
  );
  const warning = gravest(reads.map(({ result }) => result.warning));
  return joinedLater({ pieces: hasPieces ? pieces : undefined, warning }, () =>
    joinOwn(reads.map(({ split, result: { series } }) => ({ split, series }))),
  );
}

interface Joining<Series, Whole> {
  readonly make: (labels: Readonly<Record<string, string>>) => Whole;
  readonly put: (whole: Whole, part: Series, offset: number) => void;
}

function join<Series extends { readonly labels: Readonly<Record<string, string>> }, Whole = Series>(
  responses: readonly SplitResponse<Series>[],
  { make, put }: Joining<Series, Whole>,
): readonly Whole[] {
  const wholes = new Map<string, Whole>();
  for (const { split, series } of responses) {
    for (const part of series) {
      const key = JSON.stringify(Object.entries(part.labels).sort(([a], [b]) => (a < b ? -1 : 1)));
      const whole = wholes.get(key) ?? make(part.labels);
      wholes.set(key, whole);
      put(whole, part, split.offset);
    }
  }
  return [...wholes.values()];
}
