import type { StoreSeries } from "../stores/matrix.ts";
import { compensatedSum } from "./compensated-sum.ts";
import { bucketQuantile } from "./quantile.ts";

/** The buckets of one group in one store, by upper bound. Several series may have one bound: `1` and `1.0` are one. */
export type StoreBuckets = ReadonlyMap<number, readonly StoreSeries[]>;

/** Bounds of the stores differ, and what they share is no histogram. Source: design §5 rule 9. */
export class IncompatibleBuckets extends Error {
  override readonly name = "IncompatibleBuckets";
}

/** Buckets by `le` as a number; a series without one is no bucket. */
export function bucketsOf(series: readonly StoreSeries[]): StoreBuckets {
  const bounds = new Map<number, StoreSeries[]>();
  for (const one of series) {
    const bound = parseBound(one.labels["le"]);
    if (Number.isNaN(bound)) continue;
    const rows = bounds.get(bound);
    if (rows === undefined) bounds.set(bound, [one]);
    else rows.push(one);
  }
  return bounds;
}

/**
 * The quantile of several stores' buckets at each point; NaN where there is none. Stores whose bounds differ are
 * reduced to the bounds that they share: a cumulative count at a shared bound is exact.
 *
 * @throws IncompatibleBuckets when they share no `+Inf` or nothing besides it
 */
export function mergeQuantile(stores: readonly StoreBuckets[], quantile: number, count: number): Float64Array {
  const bounds = [...new Set(stores.flatMap((store) => [...store.keys()]))].sort((a, b) => a - b);
  const values = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    const heard = stores.filter((store) => hasPoint(store, index));
    const shared = sharedBuckets(heard, bounds, index);
    values[index] = bucketQuantile(quantile, shared.bounds, shared.counts);
  }
  return values;
}

interface Buckets {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

function sharedBuckets(heard: readonly StoreBuckets[], all: readonly number[], index: number): Buckets {
  const bounds: number[] = [];
  const counts: number[] = [];
  let differ = false;
  for (const bound of all) {
    const perStore = heard.map((store) => countAt(store, bound, index)).filter((value) => value !== undefined);
    if (perStore.length === heard.length) {
      bounds.push(bound);
      counts.push(compensatedSum(perStore));
    } else if (perStore.length > 0) differ = true;
  }
  if (differ && (bounds.length < 2 || bounds.at(-1) !== Infinity)) {
    throw new IncompatibleBuckets("the histograms of these stores share too few bounds");
  }
  return { bounds, counts };
}

function hasPoint(store: StoreBuckets, index: number): boolean {
  return store.values().some((rows) => rows.some((row) => row.present[index] === 1));
}

function countAt(store: StoreBuckets, bound: number, index: number): number | undefined {
  const rows = (store.get(bound) ?? []).filter((row) => row.present[index] === 1);
  return rows.length === 0 ? undefined : compensatedSum(rows.map((row) => row.values[index] ?? Number.NaN));
}

/** Source: Prometheus exposition format, `le`. */
function parseBound(text: string | undefined): number {
  if (text === undefined || text === "") return Number.NaN;
  if (/^\+?inf$/iu.test(text)) return Infinity;
  return Number(text);
}
