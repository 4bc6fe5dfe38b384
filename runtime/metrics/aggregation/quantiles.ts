import type { Quantile } from "./quantile.ts";

/** A quantile at each point of a grid; NaN where there is none. */
export interface Quantiles {
  readonly values: Float64Array;
  readonly bounds: ErrorBounds;
}

/** Between which numbers each value of a percentile surely lies; infinite where nothing bounds it. */
export interface ErrorBounds {
  readonly low: Float64Array;
  readonly high: Float64Array;
}

/** Takes the quantile of each point. */
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
