import type { Sample } from "./generated-series.ts";

/**
 * What Prometheus 3 makes of one series over one range, written down from its documentation and its answers and not
 * from our own planner. Undefined: no value.
 */
export type RangeFunction = (samples: readonly Sample[], endMs: number, rangeMs: number) => number | undefined;

const lookbackMs = 300_000;

/** Samples in (from, to]. */
export function within(samples: readonly Sample[], fromMs: number, toMs: number): readonly Sample[] {
  return samples.slice(firstAfter(samples, fromMs), firstAfter(samples, toMs));
}

/** Place of the first sample after a time. */
export function firstAfter(samples: readonly Pick<Sample, "ms">[], ms: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((samples[middle]?.ms ?? Infinity) > ms) high = middle;
    else low = middle + 1;
  }
  return low;
}

function valuesIn(samples: readonly Sample[], endMs: number, rangeMs: number): readonly number[] {
  return within(samples, endMs - rangeMs, endMs).map(({ value }) => value);
}

function over(reduce: (values: readonly number[]) => number): RangeFunction {
  return (samples, endMs, rangeMs) => {
    const values = valuesIn(samples, endMs, rangeMs);
    return values.length === 0 ? undefined : reduce(values);
  };
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

export const sumOverTime = over(total);
export const countOverTime = over((values) => values.length);
export const avgOverTime = over((values) => total(values) / values.length);
export const minOverTime = over(least);
export const maxOverTime = over(most);

/** NaN only counts where there is nothing else. */
function least(values: readonly number[]): number {
  return values.reduce((a, b) => (b < a || Number.isNaN(a) ? b : a));
}

function most(values: readonly number[]): number {
  return values.reduce((a, b) => (b > a || Number.isNaN(a) ? b : a));
}

/** What a counter rose by from sample to sample; a fall is a restart from zero. */
function rise(samples: readonly Sample[]): number {
  return samples.reduce((sum, { value }, index) => {
    const before = samples[index - 1]?.value;
    if (before === undefined) return sum;
    return sum + (value < before ? value : value - before);
  }, 0);
}

/** `increase(m[w])`: the rise inside the range, stretched towards its edges. */
export const increase: RangeFunction = (samples, endMs, rangeMs) => {
  const inside = within(samples, endMs - rangeMs, endMs);
  const [first, last] = [inside[0], inside.at(-1)];
  if (first === undefined || last === undefined || inside.length < 2) return undefined;
  const raw = rise(inside);
  const sampled = last.ms - first.ms;
  const spacing = sampled / (inside.length - 1);
  const stretch = (distance: number): number => (distance >= spacing * 1.1 ? spacing / 2 : distance);
  let before = stretch(first.ms - (endMs - rangeMs));
  // A counter cannot have been below zero: it is not stretched further back than to where it was zero.
  if (raw > 0 && first.value >= 0) before = Math.min(before, sampled * (first.value / raw));
  return raw * ((sampled + before + stretch(endMs - last.ms)) / sampled);
};

/** `increase(m[w] anchored)`: from the last sample at or before the range's begin to the last one inside. */
export const anchoredIncrease: RangeFunction = (samples, endMs, rangeMs) => {
  const startMs = endMs - rangeMs;
  const inside = within(samples, startMs, endMs);
  if (inside.length === 0) return undefined;
  const anchor = samples[firstAfter(samples, startMs) - 1];
  const anchored = anchor !== undefined && anchor.ms > startMs - lookbackMs;
  return rise(anchored ? [anchor, ...inside] : inside);
};

type Bucket = readonly [bound: number, count: number];

/** The quantile of cumulative buckets, ascending by bound. */
export function quantileOf(q: number, buckets: readonly Bucket[]): number {
  if (buckets.length < 2 || buckets.at(-1)?.[0] !== Infinity) return Number.NaN;
  const rising = neverFalling(buckets);
  const [, observations] = bucketAt(rising, rising.length - 1);
  if (observations === 0) return Number.NaN;
  const rank = q * observations;
  const hit = rising.findIndex(([, count]) => count >= rank);
  const [upper, upTo] = bucketAt(rising, hit);
  const [lower, below] = bucketAt(rising, hit - 1);
  if (upper === Infinity) return lower;
  return hit === 0 && upper <= 0 ? upper : lower + ((upper - lower) * (rank - below)) / (upTo - below);
}

/** Below the first bucket there is nothing, from zero on. */
function bucketAt(buckets: readonly Bucket[], index: number): Bucket {
  return buckets[index] ?? [0, 0];
}

function neverFalling(buckets: readonly Bucket[]): readonly Bucket[] {
  let highest = -Infinity;
  return buckets.map(([bound, count]) => {
    const close = Math.abs(count - highest) / (Math.abs(count) + Math.abs(highest)) < 1e-12;
    if (count > highest && !close) highest = count;
    return [bound, highest];
  });
}
