import type { Result, ResultSeries } from "../reads/run-plan.ts";

/**
 * A result without its infinite points, which JSON cannot represent, and their number. A series without other points is
 * left out.
 */
export function withoutInfinite(result: Result): Result {
  let infinitePoints = 0;
  const series = result.series.flatMap((one): readonly ResultSeries[] => {
    const count = countInfinite(one.values);
    if (count === 0) return [one];
    infinitePoints += count;
    const values = one.values.map((value) => (Number.isFinite(value) ? value : Number.NaN));
    return values.every(Number.isNaN) ? [] : [{ ...one, values }];
  });
  return infinitePoints === 0 ? result : { ...result, series, infinitePoints };
}

/** It loops by index, because it reads every point of every response. */
function countInfinite(values: Float64Array): number {
  let count = 0;
  for (let index = 0; index < values.length; index += 1) {
    if (Math.abs(values[index] ?? 0) === Infinity) count += 1;
  }
  return count;
}
