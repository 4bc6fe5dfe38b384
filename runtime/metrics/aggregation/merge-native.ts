import type { StoreBucket, StoreHistogram } from "../../stores/prometheus/histogram-matrix.ts";
import { exponentialBuckets } from "./exponential-buckets.ts";
import { noQuantile, type Quantile } from "./quantile.ts";

/** The histograms of one group at one point, one of each store that has one. */
interface NativePoint {
  readonly histograms: readonly StoreHistogram[];
  /** Whether all of them have exponential buckets; else all are taken as custom ones. */
  readonly isExponential: boolean;
}

/**
 * The quantile of several stores' native histograms as Prometheus 3 takes it of their sum: inside a bucket on a
 * logarithmic scale, in custom buckets and around zero linear. Source: Prometheus documentation, `histogram_quantile`;
 * design §5 rule 10.
 */
export function nativeQuantile({ histograms, isExponential }: NativePoint, quantile: number): Quantile {
  const count = total(histograms.map((histogram) => histogram.count));
  if (!(count > 0)) return noQuantile;
  const buckets = isExponential ? exponentialBuckets(histograms) : customBuckets(histograms);
  const hit = findRank(buckets, { quantile, count, hasNaN: Number.isNaN(total(histograms.map(({ sum }) => sum))) });
  if (hit === undefined) return noQuantile;
  const { lower: low, upper: high } = isExponential ? naturalZero(hit.bucket, buckets) : hit.bucket;
  return isExponential
    ? { value: between(low, high, hit.fraction), low, high }
    : customQuantile(low, high, hit.fraction);
}

interface Hit {
  readonly bucket: StoreBucket;
  /** How far into the bucket the rank lies, from 0 to 1. */
  readonly fraction: number;
}

/** The bucket of a rank, searched for from the nearer end, as Prometheus does: so that rounding is the same. */
function findRank(
  buckets: readonly StoreBucket[],
  { quantile, count, hasNaN }: { readonly quantile: number; readonly count: number; readonly hasNaN: boolean },
): Hit | undefined {
  const isForward = hasNaN || quantile < 0.5;
  const rank = (isForward ? quantile : 1 - quantile) * count;
  const { bucket, seen } = countUpTo(rank, isForward ? buckets : buckets.toReversed());
  if (bucket === undefined) return undefined;
  // Observations that are no numbers are in no bucket, and count as greater than all others.
  if (seen < rank) return hasNaN ? undefined : { bucket, fraction: 1 };
  const reached = Math.min(seen, count);
  const into = isForward ? rank - (reached - bucket.count) : reached - rank;
  return { bucket, fraction: into / bucket.count };
}

/**
 * The populated bucket with which a rank is reached, else the last one, and how many observations were seen by then.
 */
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

/** Observations of one sign only: the zero bucket ends at zero. */
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

function customQuantile(lower: number, high: number, fraction: number): Quantile {
  if (lower === -Infinity && high <= 0) return { value: high, low: lower, high };
  const low = lower === -Infinity ? 0 : lower;
  if (high === Infinity) return { value: low, low, high };
  return { value: low + (high - low) * fraction, low, high };
}

/**
 * Custom buckets of several stores between the bounds that cut no populated bucket of any of them: there each count is
 * exact, whatever the layouts are. Source: design §5 rules 9 and 10.
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
