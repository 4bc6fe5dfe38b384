/** Differences below this, relative, are rounding. Source: Prometheus, `histogram_quantile`. */
const roundingTolerance = 1e-12;
const smallestNormal = 2.2250738585072014e-308;

/**
 * The quantile of one classic histogram, as Prometheus takes it: linear inside the bucket that holds the rank. Source:
 * Prometheus documentation, `histogram_quantile`; design §5 rule 9.
 *
 * @param quantile from 0 to 1
 * @param bounds upper bounds, ascending, each once
 * @param counts cumulative, by bound
 * @returns NaN when there is no `+Inf` bucket, no finite bound or no observation
 */
export function bucketQuantile(quantile: number, bounds: readonly number[], counts: readonly number[]): number {
  const last = bounds.length - 1;
  if (last < 1 || bounds[last] !== Infinity) return Number.NaN;
  const cumulative = monotone(counts);
  const observations = at(cumulative, last);
  if (observations === 0 || Number.isNaN(observations)) return Number.NaN;
  const rank = quantile * observations;
  const hit = cumulative.findIndex((count) => count >= rank);
  if (hit < 0) return Number.NaN;
  if (hit === last) return at(bounds, last - 1);
  const upper = at(bounds, hit);
  if (hit === 0) return upper <= 0 ? upper : upper * (rank / at(cumulative, 0));
  const lower = at(bounds, hit - 1);
  const below = at(cumulative, hit - 1);
  return lower + (upper - lower) * ((rank - below) / (at(cumulative, hit) - below));
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
