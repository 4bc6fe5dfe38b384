import type { StoreBucket, StoreHistogram } from "../../stores/prometheus/matrix.ts";
import { isZeroBucket, placeOf, schemaMax } from "./native-layout.ts";
import { noQuantile, type Quantile } from "./quantile.ts";

/** Greatest fraction of a bucket that can be a rounding error. */
const edgeTolerance = 1e-9;

/** The histograms of one group at one point, at most one of each store. */
interface NativePoint {
  readonly histograms: readonly StoreHistogram[];
  /** True when all of them can have exponential buckets. Otherwise all count as custom buckets. */
  readonly isExponential: boolean;
}

/**
 * Computes the quantile of the native histograms of several stores, as Prometheus 3 does for their sum. It is
 * logarithmic inside an exponential bucket, and linear in custom buckets and around zero. Source: Prometheus
 * documentation, `histogram_quantile`.
 */
export function nativeQuantile({ histograms, isExponential }: NativePoint, quantile: number): Quantile {
  const count = total(histograms.map((histogram) => histogram.count));
  if (!(count > 0)) return noQuantile;
  const buckets = isExponential ? exponentialBuckets(histograms) : customBuckets(histograms);
  const hit = findRank(buckets, { quantile, count, hasNaN: Number.isNaN(total(histograms.map(({ sum }) => sum))) });
  if (hit === undefined) return noQuantile;
  // The bounds are those of the bucket itself: observations of both signs can be in a bucket around zero.
  const { lower: low, upper: high } = { ...hit.bucket, lower: lowerBound(hit, buckets) };
  if (!isExponential) return { value: customValue(hit), low, high };
  const zero = naturalZero(hit.bucket, buckets);
  return { value: between(zero.lower, zero.upper, hit.fraction), low, high };
}

/**
 * A rank at the lower edge of a bucket is the last observation of the populated bucket below. Counted from above, it
 * gives the bucket over it.
 */
function lowerBound({ bucket, fraction }: Hit, buckets: readonly StoreBucket[]): number {
  if (fraction > edgeTolerance) return bucket.lower;
  const below = buckets.slice(0, buckets.indexOf(bucket)).findLast(({ count }) => count !== 0);
  return below?.lower ?? bucket.lower;
}

interface Hit {
  readonly bucket: StoreBucket;
  /** The position of the rank in the bucket, from 0 to 1. */
  readonly fraction: number;
}

/** Finds the bucket of a rank from the nearer end, as Prometheus does, so that both round alike. */
function findRank(
  buckets: readonly StoreBucket[],
  { quantile, count, hasNaN }: { readonly quantile: number; readonly count: number; readonly hasNaN: boolean },
): Hit | undefined {
  const isForward = hasNaN || quantile < 0.5;
  const rank = (isForward ? quantile : 1 - quantile) * count;
  const { bucket, seen } = countUpTo(rank, isForward ? buckets : buckets.toReversed());
  if (bucket === undefined) return undefined;
  // Observations of NaN are in no bucket. They count as greater than all others.
  if (seen < rank) return hasNaN ? undefined : { bucket, fraction: 1 };
  const reached = Math.min(seen, count);
  const into = isForward ? rank - (reached - bucket.count) : reached - rank;
  return { bucket, fraction: into / bucket.count };
}

/** The populated bucket that reaches a rank, else the last one, and the number of observations up to it. */
function countUpTo(
  rank: number,
  buckets: readonly StoreBucket[],
): { readonly bucket: StoreBucket | undefined; readonly seen: number } {
  let seen = 0;
  let last: StoreBucket | undefined;
  for (const bucket of buckets) {
    if (bucket.count === 0) continue;
    last = bucket;
    seen += bucket.count;
    if (seen >= rank) break;
  }
  return { bucket: last, seen };
}

/** Ends the zero bucket at zero when all observations have one sign. */
function naturalZero(bucket: StoreBucket, buckets: readonly StoreBucket[]): StoreBucket {
  if (!(bucket.lower < 0 && bucket.upper > 0)) return bucket;
  const hasNegative = buckets.some(({ upper, count }) => upper <= bucket.lower && count !== 0);
  const hasPositive = buckets.some(({ lower, count }) => lower >= bucket.upper && count !== 0);
  if (hasPositive === hasNegative) return bucket;
  return hasPositive ? { ...bucket, lower: 0 } : { ...bucket, upper: 0 };
}

function between(low: number, high: number, fraction: number): number {
  if (low <= 0 && high >= 0) return low + (high - low) * fraction;
  const [logLow, logHigh] = [Math.log2(Math.abs(low)), Math.log2(Math.abs(high))];
  if (low > 0) return 2 ** (logLow + (logHigh - logLow) * fraction);
  return -(2 ** (logHigh + (logLow - logHigh) * (1 - fraction)));
}

/** Linear inside a custom bucket. The lowest one begins at 0 unless it ends at or below 0. */
function customValue({ bucket: { lower, upper }, fraction }: Hit): number {
  if (lower === -Infinity && upper <= 0) return upper;
  const low = lower === -Infinity ? 0 : lower;
  return upper === Infinity ? low : low + (upper - low) * fraction;
}

/**
 * Merges the custom buckets of several stores between the bounds that split no populated bucket. The counts there are
 * exact for any layouts.
 */
function customBuckets(histograms: readonly StoreHistogram[]): readonly StoreBucket[] {
  if (histograms.length === 1) return histograms[0]?.buckets ?? [];
  const all = histograms.flatMap(({ buckets }) => buckets);
  const bounds = [...new Set(all.flatMap(({ lower, upper }) => [lower, upper]))].sort((a, b) => a - b);
  const shared = bounds.filter((bound) => all.every(({ lower, upper }) => bound <= lower || bound >= upper));
  const counts = shared.slice(1).map(() => 0);
  for (const { upper, count } of all) {
    const index = shared.findIndex((bound) => bound >= upper) - 1;
    counts[index] = (counts[index] ?? 0) + count;
  }
  return counts.map((count, index) => ({
    lower: shared[index] ?? -Infinity,
    upper: shared[index + 1] ?? Infinity,
    count,
  }));
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The buckets of one sign and one schema, by their index. The bounds of negative buckets are mirrored. */
type Side = Map<number, number>;

interface ZeroBucket {
  readonly threshold: number;
  readonly count: number;
}

/**
 * Adds exponential histograms. The buckets of the sum are ascending, in the coarsest schema of the histograms. The zero
 * bucket is the widest of them, and wider still where it would split a populated bucket. Source: Prometheus, native
 * histograms specification.
 */
function exponentialBuckets(histograms: readonly StoreHistogram[]): readonly StoreBucket[] {
  if (histograms.length === 1) return histograms[0]?.buckets ?? [];
  const all = histograms.flatMap(({ buckets }) => buckets);
  const schema = Math.min(schemaMax, ...all.flatMap((bucket) => placeOf(bucket)?.schema ?? []));
  const [negative, positive] = [sideOf(all, -1, schema), sideOf(all, 1, schema)];
  const zero = absorb(zeroOf(all), [negative, positive], schema);
  const shown = (side: Side): readonly StoreBucket[] =>
    [...side]
      .sort(([a], [b]) => a - b)
      .map(([index, count]) => ({ lower: boundOf(index - 1, schema), upper: boundOf(index, schema), count }));
  return [
    ...beyond(all, -1),
    ...shown(negative)
      .map(({ lower, upper, count }) => ({ lower: -upper, upper: -lower, count }))
      .reverse(),
    ...(zero.count === 0 ? [] : [{ lower: -zero.threshold, upper: zero.threshold, count: zero.count }]),
    ...shown(positive),
    ...beyond(all, 1),
  ];
}

function sideOf(buckets: readonly StoreBucket[], sign: 1 | -1, schema: number): Side {
  const side: Side = new Map();
  for (const bucket of buckets) {
    const place = sign * bucket.upper > 0 && sign * bucket.lower > 0 ? placeOf(bucket) : undefined;
    if (place === undefined) continue;
    const index = Math.ceil(place.index / 2 ** (place.schema - schema));
    side.set(index, (side.get(index) ?? 0) + bucket.count);
  }
  return side;
}

function zeroOf(buckets: readonly StoreBucket[]): ZeroBucket {
  const zeros = buckets.filter(isZeroBucket);
  return {
    threshold: Math.max(0, ...zeros.map(({ upper }) => upper)),
    count: zeros.reduce((sum, { count }) => sum + count, 0),
  };
}

/** Moves the buckets inside the zero bucket into it, until it splits no populated bucket. */
function absorb(zero: ZeroBucket, sides: readonly Side[], schema: number): ZeroBucket {
  const inside = sides.flatMap((side) =>
    [...side.keys()].filter((index) => boundOf(index - 1, schema) < zero.threshold).map((index) => ({ side, index })),
  );
  if (inside.length === 0) return zero;
  let { threshold, count } = zero;
  for (const { side, index } of inside) {
    const own = side.get(index) ?? 0;
    side.delete(index);
    count += own;
    if (own !== 0) threshold = Math.max(threshold, boundOf(index, schema));
  }
  return absorb({ threshold, count }, sides, schema);
}

/** The buckets of the observations of ±Inf. */
function beyond(buckets: readonly StoreBucket[], sign: 1 | -1): readonly StoreBucket[] {
  return buckets.filter(({ lower, upper }) => (sign > 0 ? upper === Infinity : lower === -Infinity));
}

function boundOf(index: number, schema: number): number {
  return Math.min(Number.MAX_VALUE, 2 ** (index / 2 ** schema));
}
