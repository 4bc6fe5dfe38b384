import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
import { boundLabel } from "../promql/promql.ts";
import { mergeScalars, type Points } from "./merge-scalars.ts";
import { bucketQuantile, createQuantiles, type Quantile, type Quantiles } from "./quantile.ts";

/** The buckets of one group in one store, by upper bound. */
type StoreBuckets = ReadonlyMap<number, Points>;

const tooFew = "the histograms of these stores share too few bounds";

/** The bounds of the stores differ, and the shared ones form no histogram. */
export class IncompatibleBuckets extends Error {
  override readonly name = "IncompatibleBuckets";
}

/** Groups buckets by their bound as a number, so that `1` and `1.0` are equal. It leaves out series without a bound. */
export function bucketsOf(series: readonly StoreSeries[], count: number): StoreBuckets {
  const byBound = Map.groupBy(series, ({ labels }) => parseBound(labels[boundLabel] ?? labels["le"]));
  byBound.delete(Number.NaN);
  return new Map([...byBound].map(([bound, rows]) => [bound, sum(rows, count)]));
}

/** Points of one store without a bucket that every histogram has, and the name of that bucket. */
interface LackingBucket {
  readonly lacks: string;
  readonly points: Uint8Array;
}

/** The buckets of one store, without the points that it lacks `+Inf` or every finite bound at. */
export function completeBuckets(
  buckets: StoreBuckets,
  count: number,
): { readonly buckets: StoreBuckets; readonly lacking: readonly LackingBucket[] } {
  const top = buckets.get(Infinity)?.present ?? new Uint8Array(count);
  const finite = countPresent(
    [...buckets].flatMap(([bound, points]) => (bound === Infinity ? [] : [points])),
    count,
  );
  const lacksTop = Uint8Array.from(finite, (number, index) => Number(number > 0 && top[index] !== 1));
  const lacksFinite = Uint8Array.from(finite, (number, index) => Number(number === 0 && top[index] === 1));
  const lacking = [
    { lacks: "bucket of +Inf", points: lacksTop },
    { lacks: "bucket with a finite bound in all of its series", points: lacksFinite },
  ].filter(({ points }) => points.includes(1));
  if (lacking.length === 0) return { buckets, lacking };
  const kept = [...buckets].map(([bound, { values, present }]) => {
    const isWhole = (has: number, index: number): number =>
      Number(has === 1 && lacking.every(({ points }) => points[index] !== 1));
    return [bound, { values, present: present.map(isWhole) }] as const;
  });
  return { buckets: new Map(kept), lacking };
}

/**
 * Computes the quantile of the buckets of several stores at each point; NaN without observations. Stores with different
 * bounds are reduced to the shared bounds, because a cumulative count at a shared bound is exact.
 *
 * @throws IncompatibleBuckets when the stores share no `+Inf` or no other bound
 */
export function mergeQuantile(stores: readonly StoreBuckets[], quantile: number, count: number): Quantiles {
  const merged = mergedBounds(stores, count);
  const storesPresent = presentStores(stores, count);
  return createQuantiles(count, (index) => quantileAt(merged, storesPresent[index] ?? 0, { index, quantile }));
}

/**
 * Adds the buckets of several stores at their shared bounds, at each point. The buckets of a single store stay as they
 * are.
 *
 * @throws IncompatibleBuckets when the stores share no `+Inf` or no other bound
 */
export function sharedBuckets(stores: readonly StoreBuckets[], count: number): StoreBuckets {
  const [only, ...others] = stores;
  if (only !== undefined && others.length === 0) return only;
  const storesPresent = presentStores(stores, count);
  const shared = mergedBounds(stores, count).map(({ bound, values, stores: have }) => {
    return [
      bound,
      { values, present: have.map((number, index) => Number(number > 0 && number === storesPresent[index])) },
    ] as const;
  });
  for (let index = 0; index < count; index += 1) {
    const bounds = shared.filter(([, { present }]) => present[index] === 1);
    const differ = mergedAt(stores, index) > bounds.length;
    if (differ && (bounds.length < 2 || bounds.at(-1)?.[0] !== Infinity)) throw new IncompatibleBuckets(tooFew);
  }
  return new Map(shared.map(([bound, { values, present }]) => [bound, { values, present: Uint8Array.from(present) }]));
}

/** The number of bounds of all stores at a point. */
function mergedAt(stores: readonly StoreBuckets[], index: number): number {
  return new Set(
    stores.flatMap((store) => [...store].flatMap(([bound, { present }]) => (present[index] === 1 ? [bound] : []))),
  ).size;
}

/** One bound over all stores. */
interface MergedBound {
  readonly bound: number;
  readonly values: Float64Array;
  /** The number of stores with the bound, at each point. */
  readonly stores: Uint16Array;
}

function quantileAt(
  merged: readonly MergedBound[],
  storesPresent: number,
  { index, quantile }: { readonly index: number; readonly quantile: number },
): Quantile {
  const bounds: number[] = [];
  const counts: number[] = [];
  let differ = false;
  for (const { bound, values, stores } of merged) {
    if (stores[index] === 0) continue;
    if (stores[index] !== storesPresent) {
      differ = true;
      continue;
    }
    bounds.push(bound);
    counts.push(values[index] ?? Number.NaN);
  }
  if (differ && (bounds.length < 2 || bounds.at(-1) !== Infinity)) throw new IncompatibleBuckets(tooFew);
  return bucketQuantile(quantile, bounds, counts);
}

/** All bounds of the stores, ascending. */
function mergedBounds(stores: readonly StoreBuckets[], count: number): readonly MergedBound[] {
  const all = [...new Set(stores.flatMap((store) => [...store.keys()]))].sort((a, b) => a - b);
  return all.map((bound) => mergeBound(stores.map((store) => store.get(bound)).filter(isThere), bound, count));
}

function mergeBound(rows: readonly Points[], bound: number, count: number): MergedBound {
  return { bound, values: sum(rows, count).values, stores: countPresent(rows, count) };
}

/** The number of stores with any bucket, at each point. */
function presentStores(stores: readonly StoreBuckets[], count: number): Uint16Array {
  const anyBucket = stores.map((store) => {
    const buckets = countPresent([...store.values()], count);
    return { present: Uint8Array.from(buckets, (number) => (number > 0 ? 1 : 0)) };
  });
  return countPresent(anyBucket, count);
}

function countPresent(rows: readonly Pick<Points, "present">[], count: number): Uint16Array {
  const counts = new Uint16Array(count);
  for (const { present } of rows)
    for (let index = 0; index < count; index += 1) counts[index] = (counts[index] ?? 0) + (present[index] ?? 0);
  return counts;
}

function sum(rows: readonly Points[], count: number): Points {
  return mergeScalars(
    rows.map(({ values, present }) => ({ values, present, weight: 1 })),
    "sum",
    count,
  );
}

function isThere(points: Points | undefined): points is Points {
  return points !== undefined;
}

/** Source: Prometheus exposition format, `le`. */
function parseBound(text: string | undefined): number {
  if (text === undefined || text === "") return Number.NaN;
  if (/^\+?inf$/iu.test(text)) return Infinity;
  return Number(text);
}
