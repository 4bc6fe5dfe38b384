import type { Merge } from "../../../api/queries.ts";
import type { PlannedPart } from "../planning/plan.ts";
import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { Statistic } from "../promql/recipe.ts";

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
export function mergeScalars(parts: readonly WeightedPoints[], merge: Merge, count: number): Points {
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

/** As in PromQL, the minimum and the maximum ignore NaN, unless all values are NaN. */
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

/** The values of the present points. As in every other value, a zero has no sign. */
export function presentValues({ values, present }: Points, count: number): Float64Array {
  const finished = new Float64Array(count);
  for (let index = 0; index < count; index += 1)
    finished[index] = present[index] === 1 ? (values[index] ?? Number.NaN) + 0 : Number.NaN;
  return finished;
}

function at(values: Float64Array, index: number): number {
  return values[index] ?? Number.NaN;
}

// A value has several parts, such as a numerator and a denominator. A store that has only some of them at a point adds
// nothing to it, because the part that it has would be counted against the events of other stores.

/** A part that a store lacks at points where it has other parts of the same value. */
export interface MissingPart {
  /** Index of the store's result. */
  readonly store: number;
  /** Names the part in a sentence. */
  readonly lacks: string;
  /** 1 at each such point. */
  readonly points: Uint8Array;
}

/** Collects the missing parts of all groups of one metric. */
export interface MissingParts {
  add(part: MissingPart): void;
  /** One for each store and part, in their order. */
  all(): readonly MissingPart[];
}

/** Creates an empty collection. */
export function createMissingParts(): MissingParts {
  const found = new Map<string, MissingPart>();
  return {
    add(part) {
      const key = `${part.store} ${part.lacks}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, { ...part, points: part.points.slice() });
      else for (const [index, lacks] of part.points.entries()) if (lacks === 1) known.points[index] = 1;
    },
    all: () => [...found.values()].sort((a, b) => a.store - b.store || (a.lacks < b.lacks ? -1 : 1)),
  };
}

/** One statistic of one group in one store. */
export interface StatisticPoints extends Points {
  /** Index of the store's result. */
  readonly store: number;
  /** Separates the stores of a peer, whose results come together. */
  readonly ordinal: string;
  /** Index of the statistic. */
  readonly statistic: number;
}

/** The statistics of one group in one store, in the order of the recipe. */
interface StoreParts {
  readonly store: number;
  readonly parts: readonly (Points | undefined)[];
}

/**
 * Returns the statistics of one group in each store, with the same points in all statistics of a store: a statistic
 * that may be absent is 0, and a point without another one is left out and added to `missing`.
 */
export function completeParts(
  statistics: readonly Statistic[],
  rows: readonly StatisticPoints[],
  count: number,
  missing: MissingParts,
): readonly StoreParts[] {
  return partsByStore(statistics, rows, count).map((own) => {
    if (hasSamePoints(own.parts)) return own;
    return { ...own, parts: completeStore(statistics, own, count, missing) };
  });
}

function partsByStore(
  statistics: readonly Statistic[],
  rows: readonly StatisticPoints[],
  count: number,
): readonly StoreParts[] {
  const stores = Map.groupBy(rows, ({ store, ordinal }) => `${store} ${ordinal}`);
  return [...stores.values()].map((own) => ({
    store: own[0]?.store ?? 0,
    parts: statistics.map(({ merge }, statistic) => {
      const [only, ...others] = own.filter((row) => row.statistic === statistic);
      if (only === undefined || others.length === 0) return only;
      return mergeScalars(
        [only, ...others].map((row) => ({ ...row, weight: 1 })),
        merge,
        count,
      );
    }),
  }));
}

function hasSamePoints([first, ...others]: StoreParts["parts"]): boolean {
  return others.every((other) => {
    if (first === undefined || other === undefined) return false;
    for (let index = 0; index < first.present.length; index += 1)
      if (first.present[index] !== other.present[index]) return false;
    return true;
  });
}

function completeStore(
  statistics: readonly Statistic[],
  { store, parts }: StoreParts,
  count: number,
  missing: MissingParts,
): readonly Points[] {
  const present = new Uint8Array(count);
  const lacking = statistics.map(() => new Uint8Array(count));
  for (let index = 0; index < count; index += 1) {
    if (!parts.some((part) => part?.present[index] === 1)) continue;
    const lacks = statistics.map(({ absent }, place) => absent !== "none" && parts[place]?.present[index] !== 1);
    for (const [place, isLacking] of lacks.entries()) if (isLacking) lacking[place]?.fill(1, index, index + 1);
    present[index] = Number(!lacks.includes(true));
  }
  for (const [place, points] of lacking.entries()) {
    const { noun, name } = statistics[place] ?? { name: "" };
    if (points.includes(1)) missing.add({ store, lacks: noun ?? name, points });
  }
  return parts.map((part) => ({
    values: Float64Array.from(present, (_, index) => (part?.present[index] === 1 ? (part.values[index] ?? 0) : 0)),
    present,
  }));
}

/** Numbers the stores of a peer in its partials, where they come unmerged. */
export const ordinalLabel = "ordinal";

/** Separates the stores of a peer. Series of an own store have no such label, whatever they are named there. */
export function ordinalOf({ store }: PlannedPart, labels: StoreSeries["labels"]): string {
  return store.config.peer === undefined ? "" : (labels[ordinalLabel] ?? "");
}
