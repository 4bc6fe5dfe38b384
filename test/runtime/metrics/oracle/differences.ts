import type { SeriesPoints } from "./asked.ts";
import type { Expected } from "./recompute.ts";

/** Sums may differ by the order of their terms. */
const relativeTolerance = 1e-9;

/** How two sets of series differ, in words, point by point; a point that only one of them has is a difference. */
export function differences(
  actual: SeriesPoints<number>,
  wanted: SeriesPoints<Expected>,
  { oracle, exact = false }: { readonly oracle: string; readonly exact?: boolean },
): readonly string[] {
  const keys = new Set([...actual.keys(), ...wanted.keys()]);
  return [...keys].flatMap((key) => {
    const own = actual.get(key) ?? new Map<number, number>();
    const other = wanted.get(key) ?? new Map<number, Expected>();
    return [...new Set([...own.keys(), ...other.keys()])]
      .filter((ms) => !agrees(own.get(ms), other.get(ms), exact))
      .map(
        (ms) => `${oracle} ${key} ${new Date(ms).toISOString()}: ${own.get(ms)}, not ${JSON.stringify(other.get(ms))}`,
      );
  });
}

/** Points that have one right value. */
export function exactly(points: SeriesPoints<number>): SeriesPoints<Expected> {
  const expected = (own: ReadonlyMap<number, number>): ReadonlyMap<number, Expected> =>
    new Map([...own].map(([ms, value]) => [ms, { low: value, high: value }]));
  return new Map([...points].map(([key, own]) => [key, expected(own)]));
}

function agrees(value: number | undefined, expected: Expected | undefined, exact: boolean): boolean {
  if (value === undefined || expected === undefined) return value === expected || expected?.isOptional === true;
  if (Math.abs(value) === Infinity) return value === expected.low || value === expected.high;
  const slack = exact ? 0 : relativeTolerance * Math.max(Math.abs(expected.low), Math.abs(expected.high));
  return value >= expected.low - slack && value <= expected.high + slack;
}
