import type { StoreSeries } from "../stores/matrix.ts";
import { compensatedSum } from "./compensated-sum.ts";
import type { ScalarMerge } from "./kinds/recipe.ts";

/** Values over the grid; a point that is not present has none, which is not the same as NaN. */
export type Points = Pick<StoreSeries, "values" | "present">;

/** One store's points and what its values count for; 1 leaves them as they are. */
export interface WeightedPoints extends Points {
  readonly weight: number;
}

/**
 * One statistic of several stores as if one store had answered: a store without a point has nothing to say about it.
 * `parts` are in a fixed order, which is the order of addition.
 */
export function mergeScalars(parts: readonly WeightedPoints[], merge: ScalarMerge, count: number): Points {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0 && only.weight === 1) return only;
  const values = new Float64Array(count);
  const present = new Uint8Array(count);
  for (let index = 0; index < count; index += 1) {
    const heard = parts.filter((part) => part.present[index] === 1);
    if (heard.length === 0) continue;
    present[index] = 1;
    values[index] = mergeValues[merge](heard.map((part) => (part.values[index] ?? Number.NaN) * part.weight));
  }
  return { values, present };
}

const mergeValues: Readonly<Record<ScalarMerge, (values: readonly number[]) => number>> = {
  sum: compensatedSum,
  min: (values) => Math.min(...numbers(values)),
  max: (values) => Math.max(...numbers(values)),
};

/** As in PromQL, the least and the most of some numbers and NaN is a number; of NaN alone, NaN. */
function numbers(values: readonly number[]): readonly number[] {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.length === 0 ? values : known;
}
