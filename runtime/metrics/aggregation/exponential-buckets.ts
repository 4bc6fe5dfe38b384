import type { StoreBucket, StoreHistogram } from "../../stores/prometheus/matrix.ts";
import { isZeroBucket, placeOf, schemaMax } from "./native-layout.ts";

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
export function exponentialBuckets(histograms: readonly StoreHistogram[]): readonly StoreBucket[] {
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
