import type { Query } from "../planning/query.ts";
import type { PartResult } from "./read-part.ts";

/**
 * Hints about metrics of which no store has a series, and about values that are not a number. JSON cannot represent
 * those, so that their points are left out.
 *
 * @param hasSeries tests if the result has a series of the metric
 */
export function resultHints(
  { metrics, filters }: Pick<Query, "metrics" | "filters">,
  results: readonly PartResult[],
  hasSeries: (metric: string) => boolean,
): readonly string[] {
  // Filters of other labels may match nothing.
  const isOfAll = [...filters.keys()].every((label) => ["tenant", "region", "environment"].includes(label));
  return metrics.flatMap((metric) => {
    const { id } = metric.entry.metric;
    const own = results.filter(({ part }) => part.metric === metric);
    if (own.length === 0) return [];
    if (isEmpty(own)) {
      if (!isOfAll) return [];
      return [
        `${id}: no store has a series of it for this time; if that stays so, compare the name and ` +
          "the kind of its series in the catalog with those of the stores",
      ];
    }
    const { nan, infinite } = metric.recipe.kind === "scalar" ? countOdd(own) : { nan: 0, infinite: 0 };
    const odd = hasSeries(id) ? nan : nan + infinite;
    if (odd === 0) return [];
    const are = odd === 1 ? "is" : "are";
    return [`${id}: points that are no number are left out; of the values of its stores ${odd} ${are} NaN or infinite`];
  });
}

function isEmpty(results: readonly PartResult[]): boolean {
  return results.every(
    ({ ranges, histograms }) => histograms.length + ranges.flatMap((one) => one.series).length === 0,
  );
}

/** It loops by index, because it reads every value of the stores. */
function countOdd(results: readonly PartResult[]): { readonly nan: number; readonly infinite: number } {
  let [nan, infinite] = [0, 0];
  for (const { values, present } of results.flatMap(({ ranges }) => ranges.flatMap(({ series }) => series))) {
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index] ?? 0;
      if (present[index] !== 1 || Number.isFinite(value)) continue;
      if (Number.isNaN(value)) nan += 1;
      else infinite += 1;
    }
  }
  return { nan, infinite };
}
