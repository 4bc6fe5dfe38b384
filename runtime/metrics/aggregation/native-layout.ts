import type { HistogramSeries, StoreBucket } from "../../stores/prometheus/histogram-matrix.ts";

/**
 * Schemas of exponential buckets: bounds grow by 2^(2^−schema). Source: Prometheus, native histograms specification.
 */
const schemaMin = -4;
export const schemaMax = 8;

/** How far a logarithm may be off a whole number by rounding. */
const indexTolerance = 1e-6;

/** Smallest threshold of a zero bucket that somebody may have meant as a bound of his own. */
const writtenThresholdMin = 1e-6;

/**
 * How the buckets of a store's histograms are laid out. A store does not say it, and a histogram with bounds such as 1,
 * 2, 4 can be both.
 */
export type NativeLayout = "exponential" | "custom" | "either";

/** Place of an exponential bucket: its upper bound is 2^(index · 2^−schema). */
interface BucketPlace {
  readonly schema: number;
  readonly index: number;
}

/** Whether a bucket is that around zero. */
export function isZeroBucket({ lower, upper }: StoreBucket): boolean {
  return lower <= 0 && upper >= 0 && Number.isFinite(lower) && Number.isFinite(upper);
}

/**
 * Where a bucket of positive bounds, or of negative ones mirrored, lies; undefined when it is not exponential. Source:
 * design §5 rule 10, "the schema is inferred from the bounds".
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

/** The layout of all histograms that one store answered. */
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
  /** Place of the histogram in the grid. */
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
  // Only ±Inf itself is observed beyond the greatest number.
  if (bucket.lower === Number.MAX_VALUE || bucket.upper === -Number.MAX_VALUE) return "exponential";
  if (isZeroBucket(bucket)) {
    if (bucket.lower !== -bucket.upper) return "custom";
    return bucket.upper < writtenThresholdMin ? "exponential" : "either";
  }
  const place = placeOf(bucket);
  if (place === undefined) return "custom";
  // Nobody writes down bounds that are no powers of two by hand.
  return place.schema > 0 ? "exponential" : "either";
}

/**
 * A question whose answer tells a layout that the bounds leave open: a quantile in the middle of a bucket, where the
 * two kinds of interpolation are furthest apart.
 */
interface TellingPoint {
  readonly series: HistogramSeries;
  /** Place of the point in the grid. */
  readonly index: number;
  readonly quantile: number;
  /** The quantile in custom buckets, and in exponential ones. */
  readonly linear: number;
  readonly exponential: number;
}

/** Some point that tells; undefined where every bucket is one around zero, so that both layouts come to the same. */
export function tellingPoint(results: readonly HistogramSeries[]): TellingPoint | undefined {
  for (const { series, index, bucket, below, all } of bucketsIn(results)) {
    const { lower, upper, count } = bucket;
    if (isZeroBucket(bucket) || !(count > 0)) continue;
    const exponential = Math.sign(lower) * Math.sqrt(lower * upper);
    return { series, index, quantile: (below + count / 2) / all, linear: (lower + upper) / 2, exponential };
  }
  return undefined;
}

/** What the store's own quantile at a telling point says. */
export function toldLayout({ linear, exponential }: TellingPoint, value: number): NativeLayout {
  return Math.abs(value - linear) < Math.abs(value - exponential) ? "custom" : "exponential";
}

function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) < indexTolerance * Math.max(1, Math.abs(b));
}
