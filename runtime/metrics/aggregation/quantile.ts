/** Differences below this, relative, are rounding. Source: Prometheus, `histogram_quantile`. */
const roundingTolerance = 1e-12;
const smallestNormal = 2.2250738585072014e-308;

/** A quantile and where it surely lies: its bucket's bounds, either of which may be infinite. */
export interface Quantile {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What no observation is the quantile of. */
export const noQuantile: Quantile = { value: Number.NaN, low: Number.NaN, high: Number.NaN };

/**
 * The quantile of one classic histogram, as Prometheus takes it: linear inside the bucket that holds the rank, whose
 * lowest bucket begins at 0 unless it ends there. Source: Prometheus documentation, `histogram_quantile`; design §5
 * rule 9.
 *
 * @param quantile from 0 to 1
 * @param bounds upper bounds, ascending, each once
 * @param counts cumulative, by bound
 * @returns NaN when there is no `+Inf` bucket, no finite bound or no observation
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
  if (hit === 0)
    return high <= 0
      ? { value: high, low: -Infinity, high }
      : { value: high * (rank / at(cumulative, 0)), low: 0, high };
  const low = at(bounds, hit - 1);
  if (hit === last) return { value: low, low, high };
  const below = at(cumulative, hit - 1);
  return { value: low + (high - low) * ((rank - below) / (at(cumulative, hit) - below)), low, high };
}

/** Cumulative counts never fall: what is less than before, or more by rounding only, becomes what was before. */
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
