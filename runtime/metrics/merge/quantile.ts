/** Relative differences below this are rounding errors. Source: Prometheus, `histogram_quantile`. */
const roundingTolerance = 1e-12;
const smallestNormal = 2.2250738585072014e-308;

/** A quantile and the bounds of its bucket, which contain the exact value. Either bound can be infinite. */
export interface Quantile {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The quantile without observations. */
export const noQuantile: Quantile = { value: Number.NaN, low: Number.NaN, high: Number.NaN };

/**
 * Computes the quantile of one classic histogram as Prometheus does: linear inside the bucket of the rank. The lowest
 * bucket starts at 0 unless it ends at or below 0. Source: Prometheus documentation, `histogram_quantile`.
 *
 * @param quantile from 0 to 1
 * @param bounds upper bounds, ascending, each once
 * @param counts cumulative, by bound
 * @returns NaN without a `+Inf` bucket, a finite bound or an observation
 */
export function bucketQuantile(quantile: number, bounds: readonly number[], counts: readonly number[]): Quantile {
  const last = bounds.length - 1;
  if (last < 1 || bounds[last] !== Infinity) return noQuantile;
  const cumulative = monotone(counts);
  const observations = at(cumulative, last);
  if (observations === 0 || Number.isNaN(observations)) return noQuantile;
  const rank = quantile * observations;
  const hit = cumulative.findIndex((count) => count >= rank);
  if (hit < 0) return noQuantile;
  const high = at(bounds, hit);
  const floor = lowerBound(bounds, cumulative, rank);
  // The value begins at 0. An observation can be below 0 all the same, so that nothing bounds the bucket below.
  if (hit === 0) return { value: high <= 0 ? high : high * (rank / at(cumulative, 0)), low: -Infinity, high };
  const low = at(bounds, hit - 1);
  if (hit === last) return { value: low, low: floor, high };
  const below = at(cumulative, hit - 1);
  return { value: low + (high - low) * ((rank - below) / (at(cumulative, hit) - below)), low: floor, high };
}

/** The bound that certainly fewer observations than the rank are below of, even if the rank is rounded up. */
function lowerBound(bounds: readonly number[], cumulative: readonly number[], rank: number): number {
  const reached = cumulative.findIndex((count) => count >= rank - rank * roundingTolerance);
  return reached > 0 ? at(bounds, reached - 1) : -Infinity;
}

/** Makes cumulative counts monotone: a count below the last one, or above it by rounding only, becomes equal to it. */
function monotone(counts: readonly number[]): readonly number[] {
  let previous = counts[0] ?? Number.NaN;
  return counts.map((count) => {
    if (count > previous && !differByRounding(previous, count)) previous = count;
    return Number.isNaN(count) ? count : previous;
  });
}

function differByRounding(a: number, b: number): boolean {
  const sum = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || sum < smallestNormal) return difference < roundingTolerance * smallestNormal;
  return difference / Math.min(sum, Number.MAX_VALUE) < roundingTolerance;
}

function at(values: readonly number[], index: number): number {
  return values[index] ?? Number.NaN;
}

/** A quantile at each point of a grid; NaN for a point without one. */
export interface Quantiles {
  readonly values: Float64Array;
  readonly bounds: ErrorBounds;
}

/** The bounds of the exact value of a percentile at each point; infinite without a bound. */
export interface ErrorBounds {
  readonly low: Float64Array;
  readonly high: Float64Array;
}

/** Computes the quantile of each point. */
export function createQuantiles(count: number, quantileAt: (index: number) => Quantile): Quantiles {
  const [values, low, high] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
  for (let index = 0; index < count; index += 1) {
    const quantile = quantileAt(index);
    values[index] = quantile.value;
    low[index] = quantile.low;
    high[index] = quantile.high;
  }
  return { values, bounds: { low, high } };
}
