import type { ChartSeries } from "./chart-data.ts";

/** Figures of a series over the time that a chart shows. */
export interface SeriesStats {
  readonly min: number;
  readonly max: number;
  /** Mean of the points; gaps do not count. */
  readonly mean: number;
  readonly last: number;
}

/** Minimum, maximum, mean and last value of a series; undefined without values. */
export function statsOf({ points }: Pick<ChartSeries, "points">): SeriesStats | undefined {
  let [min, max, sum, count] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  let last: number | undefined;
  for (const [, value] of points) {
    if (value === null) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    count += 1;
    last = value;
  }
  return last === undefined ? undefined : { min, max, mean: sum / count, last };
}

/**
 * The hidden series after a click on one in the legend. With `only`, that series alone is shown; the same again shows
 * all.
 */
export function toggleSeries(
  hidden: ReadonlySet<string>,
  { label, all, only }: { readonly label: string; readonly all: readonly string[]; readonly only: boolean },
): ReadonlySet<string> {
  const others = all.filter((one) => one !== label);
  if (only) {
    const isAlone = !hidden.has(label) && others.every((one) => hidden.has(one));
    return new Set(isAlone ? [] : others);
  }
  const next = new Set(hidden);
  if (!next.delete(label)) next.add(label);
  return next;
}
