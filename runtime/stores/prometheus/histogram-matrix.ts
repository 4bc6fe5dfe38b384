import { matrixEntries, parseSample, pointIndex, type PointGrid, type StoreLabels } from "./matrix.ts";
import { StoreError } from "../store-error.ts";

/** One populated bucket of a native histogram. The zero bucket has bounds of both signs. */
export interface StoreBucket {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
}

/** A native histogram as its store returns it: without empty buckets, and without its schema. */
export interface StoreHistogram {
  readonly count: number;
  readonly sum: number;
  /** Ascending. */
  readonly buckets: readonly StoreBucket[];
}

/** One series of native histograms over a grid; undefined for a point without a histogram. */
export interface HistogramSeries {
  readonly labels: StoreLabels;
  readonly histograms: readonly (StoreHistogram | undefined)[];
}

/**
 * Decodes the native histograms in the `data` of a range query. Source: Prometheus HTTP API, "Native histograms".
 *
 * @throws StoreError `malformed`
 */
export function decodeHistograms(data: unknown, grid: PointGrid): readonly HistogramSeries[] {
  return matrixEntries(data)
    .filter(({ histograms }) => histograms.length > 0)
    .map(({ labels, histograms: pairs }) => {
      const histograms = Array.from<StoreHistogram | undefined>({ length: grid.count });
      for (const [seconds, histogram] of pairs) histograms[pointIndex(seconds, grid)] = decodeHistogram(histogram);
      return { labels, histograms };
    });
}

type BucketRow = readonly [boundaries: number, lower: string, upper: string, count: string];

function decodeHistogram(histogram: unknown): StoreHistogram {
  const { count, sum, buckets = [] } = (histogram ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof count !== "string" || typeof sum !== "string" || !Array.isArray(buckets)) {
    throw new StoreError("malformed", "a histogram has no count, no sum or no buckets");
  }
  return {
    count: parseSample(count),
    sum: parseSample(sum),
    buckets: (buckets as readonly BucketRow[]).map(decodeBucket),
  };
}

function decodeBucket([, lower, upper, count]: BucketRow): StoreBucket {
  return { lower: parseSample(lower), upper: parseSample(upper), count: parseSample(count) };
}
