import type { Quantile } from "./quantile.ts";

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
