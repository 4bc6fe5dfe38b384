import { firstAfter } from "./range-functions.ts";
import type { Expected } from "./recompute.ts";

/** One populated bucket. */
interface RawBucket {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
}

/** A native histogram as a store shows it. */
export interface RawHistogram {
  readonly count: number;
  readonly sum: number;
  readonly buckets: readonly RawBucket[];
}

export interface HistogramSample {
  readonly ms: number;
  readonly value: RawHistogram;
}

/** Rounding may put a rank that equals a count on either side of it. */
const rankTolerance = 1e-9;

/**
 * `increase(h[w])`, written down from Prometheus' documentation: each bucket as a counter, stretched as the count is.
 */
export function nativeIncrease(
  samples: readonly HistogramSample[],
  endMs: number,
  rangeMs: number,
): RawHistogram | undefined {
  const within = samples.slice(firstAfter(samples, endMs - rangeMs), firstAfter(samples, endMs));
  const [first, last] = [within[0], within.at(-1)];
  if (first === undefined || last === undefined || within.length < 2) return undefined;
  const restarts = within.flatMap(({ value }, index) => {
    const before = within[index - 1]?.value;
    return before !== undefined && fell(before, value) ? [before] : [];
  });
  const plus = [last.value, ...restarts];
  const raw = {
    count: total(plus.map(({ count }) => count)) - first.value.count,
    sum: total(plus.map(({ sum }) => sum)) - first.value.sum,
    buckets: addBuckets([
      ...plus.flatMap(({ buckets }) => buckets),
      ...first.value.buckets.map((bucket) => ({ ...bucket, count: -bucket.count })),
    ]),
  };
  return scaled(
    raw,
    stretch({ first, last, rose: raw.count, spacing: (last.ms - first.ms) / (within.length - 1) }, endMs, rangeMs),
  );
}

function fell(before: RawHistogram, after: RawHistogram): boolean {
  const counts = new Map(after.buckets.map((bucket) => [keyOf(bucket), bucket.count]));
  return after.count < before.count || before.buckets.some((bucket) => (counts.get(keyOf(bucket)) ?? 0) < bucket.count);
}

interface Rise {
  readonly first: HistogramSample;
  readonly last: HistogramSample;
  readonly rose: number;
  readonly spacing: number;
}

function stretch({ first, last, rose, spacing }: Rise, endMs: number, rangeMs: number): number {
  const sampled = last.ms - first.ms;
  const edge = (distance: number): number => (distance >= spacing * 1.1 ? spacing / 2 : distance);
  let before = edge(first.ms - (endMs - rangeMs));
  if (rose > 0) before = Math.min(before, sampled * (first.value.count / rose));
  return (sampled + before + edge(endMs - last.ms)) / sampled;
}

function scaled({ count, sum, buckets }: RawHistogram, factor: number): RawHistogram {
  return {
    count: count * factor,
    sum: sum * factor,
    buckets: buckets.map((bucket) => ({ ...bucket, count: bucket.count * factor })),
  };
}

/** The quantile of the sum of histograms, whose layouts may differ. */
export function nativeQuantileBounds(histograms: readonly RawHistogram[], q: number, isCustom: boolean): Expected {
  const all = histograms.flatMap(({ buckets }) => buckets);
  const buckets = isCustom ? betweenWholeBounds(all) : onOneGrid(all);
  const count = total(histograms.map((histogram) => histogram.count));
  const at = (quantile: number): number => quantileAt(buckets, quantile * count, isCustom);
  return { low: at(q * (1 - rankTolerance)), high: at(q * (1 + rankTolerance)) };
}

function quantileAt(buckets: readonly RawBucket[], rank: number, isCustom: boolean): number {
  let below = 0;
  for (const bucket of buckets) {
    if (bucket.count > 0 && below + bucket.count >= rank)
      return inside(bucket, (rank - below) / bucket.count, { buckets, isCustom });
    below += bucket.count;
  }
  // Rounding left the last observation out.
  const last = buckets.findLast((bucket) => bucket.count > 0);
  return last === undefined ? Number.NaN : inside(last, 1, { buckets, isCustom });
}

interface Layout {
  readonly buckets: readonly RawBucket[];
  readonly isCustom: boolean;
}

function inside(bucket: RawBucket, fraction: number, { buckets, isCustom }: Layout): number {
  return isCustom ? insideCustom(bucket, fraction) : insideExponential(bucket, fraction, buckets);
}

function insideCustom({ lower, upper }: RawBucket, fraction: number): number {
  if (upper === Infinity) return lower;
  if (lower === -Infinity && upper <= 0) return upper;
  return linear(lower === -Infinity ? 0 : lower, upper, fraction);
}

function insideExponential({ lower, upper }: RawBucket, fraction: number, buckets: readonly RawBucket[]): number {
  if (lower > 0) return lower * (upper / lower) ** fraction;
  if (upper < 0) return -(-upper * (lower / upper) ** (1 - fraction));
  const populated = buckets.filter(({ count }) => count > 0);
  const [hasNegative, hasPositive] = [
    populated.some((bucket) => bucket.upper <= lower),
    populated.some((bucket) => bucket.lower >= upper),
  ];
  if (hasPositive && !hasNegative) return linear(0, upper, fraction);
  return hasNegative && !hasPositive ? linear(lower, 0, fraction) : linear(lower, upper, fraction);
}

function linear(lower: number, upper: number, fraction: number): number {
  return lower + (upper - lower) * fraction;
}

/** Exponential buckets, all as wide as the widest populated one on a logarithmic scale, around one zero bucket. */
function onOneGrid(buckets: readonly RawBucket[]): readonly RawBucket[] {
  const all = buckets.filter(({ count }) => count > 0);
  const isZero = ({ lower, upper }: RawBucket): boolean => lower <= 0 && upper >= 0;
  const sized = all.filter((bucket) => !isZero(bucket));
  const width = Math.max(...sized.map(({ lower, upper }) => Math.abs(Math.log2(upper / lower))));
  const grid = (far: number): number =>
    Math.round(Math.ceil(Math.log2(far) / width - 1e-6) * width * 2 ** 20) / 2 ** 20;
  const widened = addBuckets(
    sized.map(({ lower, upper, count }) => {
      const power = grid(lower > 0 ? upper : -lower);
      const [near, far] = [2 ** (power - width), 2 ** power];
      return lower > 0 ? { lower: near, upper: far, count } : { lower: -far, upper: -near, count };
    }),
  ).filter(({ count }) => count > 0);
  let threshold = Math.max(0, ...all.filter(isZero).map(({ upper }) => upper));
  const near = ({ lower, upper }: RawBucket): number => Math.min(Math.abs(lower), Math.abs(upper));
  const far = ({ lower, upper }: RawBucket): number => Math.max(Math.abs(lower), Math.abs(upper));
  for (
    let cut = widened.find((bucket) => near(bucket) < threshold * (1 - 1e-9) && far(bucket) > threshold * (1 + 1e-9));
    cut !== undefined;
  ) {
    threshold = far(cut);
    cut = widened.find((bucket) => near(bucket) < threshold * (1 - 1e-9) && far(bucket) > threshold * (1 + 1e-9));
  }
  const isInside = (bucket: RawBucket): boolean => isZero(bucket) || far(bucket) <= threshold * (1 + 1e-9);
  const zeroCount = total([...all.filter(isZero), ...widened.filter(isInside)].map(({ count }) => count));
  return ascending([
    { lower: -threshold, upper: threshold, count: zeroCount },
    ...widened.filter((bucket) => !isInside(bucket)),
  ]);
}

/** Custom buckets between the bounds that lie inside no populated bucket. */
function betweenWholeBounds(all: readonly RawBucket[]): readonly RawBucket[] {
  const populated = all.filter(({ count }) => count > 0);
  const bounds = [...new Set(populated.flatMap(({ lower, upper }) => [lower, upper]))].sort((a, b) => a - b);
  const whole = bounds.filter((bound) => !populated.some(({ lower, upper }) => lower < bound && bound < upper));
  return whole.slice(1).map((upper, index) => {
    const lower = whole[index] ?? Number.NaN;
    return {
      lower,
      upper,
      count: total(
        populated.filter((bucket) => bucket.lower >= lower && bucket.upper <= upper).map(({ count }) => count),
      ),
    };
  });
}

function addBuckets(buckets: readonly RawBucket[]): readonly RawBucket[] {
  const sums = Map.groupBy(buckets, keyOf)
    .values()
    .flatMap((own) =>
      own.slice(0, 1).map(({ lower, upper }) => ({ lower, upper, count: total(own.map(({ count }) => count)) })),
    );
  return ascending([...sums]);
}

function ascending(buckets: readonly RawBucket[]): readonly RawBucket[] {
  return buckets.toSorted((a, b) => a.lower - b.lower);
}

function keyOf({ lower, upper }: RawBucket): string {
  return `${lower} ${upper}`;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
