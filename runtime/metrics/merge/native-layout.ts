import type { HistogramSeries, StoreBucket } from "../../stores/prometheus/matrix.ts";

/**
 * Schemas of exponential buckets: bounds grow by 2^(2^−schema). Source: Prometheus, native histograms specification.
 */
const schemaMin = -4;
export const schemaMax = 8;

/** Greatest distance of a logarithm from a whole number by rounding. */
const indexTolerance = 1e-6;

/** Smallest threshold of a zero bucket that can be a configured custom bound. */
const writtenThresholdMin = 1e-6;

/**
 * The layout of the buckets of a store's histograms. The response of a store does not contain it. A histogram with
 * bounds such as 1, 2, 4 can have either.
 */
export type NativeLayout = "exponential" | "custom" | "either";

/** The schema and index of an exponential bucket. Its upper bound is 2^(index · 2^−schema). */
interface BucketPlace {
  readonly schema: number;
  readonly index: number;
}

/** True for a finite bucket around zero. */
export function isZeroBucket({ lower, upper }: StoreBucket): boolean {
  return lower <= 0 && upper >= 0 && Number.isFinite(lower) && Number.isFinite(upper);
}

/**
 * Infers the place of a bucket with bounds of one sign; undefined when it is not exponential. Negative bounds are
 * mirrored.
 */
export function placeOf({ lower, upper }: StoreBucket): BucketPlace | undefined {
  const [near, far] = lower > 0 ? [lower, upper] : [-upper, -lower];
  if (!(near > 0 && far > near && far < Infinity)) return undefined;
  const width = Math.log2(far) - Math.log2(near);
  const schema = 0 - Math.round(Math.log2(width));
  if (schema < schemaMin || schema > schemaMax) return undefined;
  const perDoubling = 2 ** schema;
  const index = Math.log2(far) * perDoubling;
  const isWhole = isClose(width * perDoubling, 1) && isClose(index, Math.round(index));
  return isWhole ? { schema, index: Math.round(index) } : undefined;
}

/** Infers the layout of all histograms of one store. */
export function layoutOf(results: readonly HistogramSeries[]): NativeLayout {
  let layout: NativeLayout = "either";
  for (const { bucket } of bucketsIn(results)) {
    const own = layoutOfBucket(bucket);
    if (own === "custom") return own;
    if (own === "exponential") layout = own;
  }
  return layout;
}

interface PlacedBucket {
  readonly series: HistogramSeries;
  /** Index of the histogram in the grid. */
  readonly index: number;
  readonly bucket: StoreBucket;
  /** Observations in the buckets below, and in the whole histogram. */
  readonly below: number;
  readonly all: number;
}

function* bucketsIn(results: readonly HistogramSeries[]): Iterable<PlacedBucket> {
  const histograms = results.flatMap((series) =>
    series.histograms.map((histogram, index) => ({ series, histogram, index })),
  );
  for (const { series, histogram, index } of histograms) {
    let below = 0;
    for (const bucket of histogram?.buckets ?? []) {
      yield { series, index, bucket, below, all: histogram?.count ?? Number.NaN };
      below += bucket.count;
    }
  }
}

function layoutOfBucket(bucket: StoreBucket): NativeLayout {
  // Only observations of ±Inf are beyond the greatest number.
  if (bucket.lower === Number.MAX_VALUE || bucket.upper === -Number.MAX_VALUE) return "exponential";
  if (isZeroBucket(bucket)) {
    if (bucket.lower !== -bucket.upper) return "custom";
    return bucket.upper < writtenThresholdMin ? "exponential" : "either";
  }
  const place = placeOf(bucket);
  if (place === undefined) return "custom";
  // Configured bounds that fit a finer schema are practically powers of two.
  return place.schema > 0 ? "exponential" : "either";
}

/**
 * A quantile that shows the layout where the bounds allow both. It is in the middle of a bucket, where the two kinds of
 * interpolation differ most.
 */
interface TellingPoint {
  readonly series: HistogramSeries;
  /** Index of the point in the grid. */
  readonly index: number;
  readonly quantile: number;
  /** The value of the quantile in custom buckets, and in exponential buckets. */
  readonly linear: number;
  readonly exponential: number;
}

/** Finds a telling point; undefined if all buckets are around zero, because both layouts give the same result. */
export function tellingPoint(results: readonly HistogramSeries[]): TellingPoint | undefined {
  for (const { series, index, bucket, below, all } of bucketsIn(results)) {
    const { lower, upper, count } = bucket;
    if (isZeroBucket(bucket) || !(count > 0)) continue;
    const exponential = Math.sign(lower) * Math.sqrt(lower * upper);
    return { series, index, quantile: (below + count / 2) / all, linear: (lower + upper) / 2, exponential };
  }
  return undefined;
}

/** The layout that the store's own quantile at a telling point shows. */
export function toldLayout({ linear, exponential }: TellingPoint, value: number): NativeLayout {
  return Math.abs(value - linear) < Math.abs(value - exponential) ? "custom" : "exponential";
}

function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) < indexTolerance * Math.max(1, Math.abs(b));
}
