import type { Sample } from "./generated-series.ts";
import { firstAfter, within } from "./range-functions.ts";
import type { Expected } from "./recompute.ts";

/** A sample this near before a range is always taken for its start; in usual distances between samples. */
const closeSpacings = 1.1;
/** How long a series may be taken to go on after its last sample: at most this, or twice the usual distance. */
const goesOnMsMax = 300_000;

/**
 * What `increase(m[w])` may be in VictoriaMetrics, by its documentation: the difference between the last sample in the
 * range and the last one before it, resets counted from zero and nothing stretched. Where no sample lies shortly before
 * the range it guesses, from data outside of the range too, whether the counter began at zero or at its first sample:
 * any of these is right. Undefined: no value.
 */
export function victoriaIncrease(samples: readonly Sample[], endMs: number, rangeMs: number): Expected | undefined {
  const startMs = endMs - rangeMs;
  const inside = within(samples, startMs, endMs);
  const before = samples[firstAfter(samples, startMs) - 1];
  const [first, last] = [inside[0], inside.at(-1)];
  if (first === undefined || last === undefined) {
    // A series goes on for a guessed time after its last sample, without rising.
    return before !== undefined && before.ms > startMs - Math.max(goesOnMsMax, 2 * spacingOf(samples))
      ? { low: 0, high: 0, isOptional: true }
      : undefined;
  }
  const risen = rise(inside);
  const isClose = before !== undefined && before.ms > startMs - spacingOf(samples) * closeSpacings;
  if (before !== undefined && isClose) return exactly(risen + step(before, first));
  const guesses = [risen, risen + first.value, ...(before === undefined ? [] : [risen + step(before, first)])];
  return { low: Math.min(...guesses), high: Math.max(...guesses) };
}

function exactly(value: number): Expected {
  return { low: value, high: value };
}

function rise(samples: readonly Sample[]): number {
  return samples.reduce((sum, sample, index) => {
    const before = samples[index - 1];
    return before === undefined ? sum : sum + step(before, sample);
  }, 0);
}

/** A fall to less than seven eighths is a restart from zero; a smaller one is taken for an error, and for no fall. */
function step({ value: before }: Sample, { value }: Sample): number {
  if (value >= before) return value - before;
  return (before - value) * 8 < before ? 0 : value;
}

/** Usual time between samples. */
function spacingOf(samples: readonly Sample[]): number {
  const gaps = samples.slice(1).map(({ ms }, index) => ms - (samples[index]?.ms ?? ms));
  return gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
}
