import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { ScalarMerge } from "../promql/kinds/recipe.ts";

/** Values over the grid. An absent point has no value, which differs from NaN. */
export type Points = Pick<StoreSeries, "values" | "present">;

/** The points of one store, and the factor of its values. */
export interface WeightedPoints extends Points {
  readonly weight: number;
}

/**
 * Merges one statistic of several stores. The result equals that of one store with all series. A store without a point
 * does not change that point. The order of `parts` is the order of addition.
 */
export function mergeScalars(parts: readonly WeightedPoints[], merge: ScalarMerge, count: number): Points {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0 && only.weight === 1) return only;
  return merge === "sum" ? addUp(parts, count) : pick(parts, count, picks[merge]);
}

/**
 * Adds values and their rounding errors separately (Neumaier). A split of the series into several stores then loses no
 * digits. Infinities and NaN behave as in plain addition.
 */
function addUp(parts: readonly WeightedPoints[], count: number): Points {
  const values = new Float64Array(count);
  const lost = new Float64Array(count);
  const present = new Uint8Array(count);
  for (const part of parts) {
    for (let index = 0; index < count; index += 1) {
      if (part.present[index] !== 1) continue;
      const value = at(part.values, index) * part.weight;
      const sum = at(values, index);
      const next = sum + value;
      values[index] = next;
      lost[index] = at(lost, index) + (Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum);
      present[index] = 1;
    }
  }
  for (let index = 0; index < count; index += 1) {
    const rest = at(lost, index);
    if (Number.isFinite(rest)) values[index] = at(values, index) + rest;
  }
  return { values, present };
}

type Better = (kept: number, value: number) => boolean;

/** As in PromQL, the minimum and the maximum ignore NaN, except where all values are NaN. */
const picks: Readonly<Record<"min" | "max", Better>> = {
  min: (kept, value) => value < kept || Number.isNaN(kept),
  max: (kept, value) => value > kept || Number.isNaN(kept),
};

function pick(parts: readonly WeightedPoints[], count: number, better: Better): Points {
  const values = new Float64Array(count);
  const present = new Uint8Array(count);
  for (const part of parts) {
    for (let index = 0; index < count; index += 1) {
      if (part.present[index] !== 1) continue;
      const value = at(part.values, index) * part.weight;
      if (present[index] === 1 && !better(at(values, index), value)) continue;
      values[index] = value;
      present[index] = 1;
    }
  }
  return { values, present };
}

function at(values: Float64Array, index: number): number {
  return values[index] ?? Number.NaN;
}
