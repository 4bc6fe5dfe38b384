// Merges the partials of stores exactly: sums, extremes, buckets and native histograms, then quantiles. It is pure
// and reads no store.
import { invalidField } from "../../errors/api-error.ts";
import type { HistogramSeries, StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import { governedLabels, type Labels, labelsKey, type Plan, type PlannedPart } from "../planning/plan.ts";
import { onlyStatistic, type QuantileRecipe, type Recipe, type ScalarRecipe } from "../promql/recipe.ts";
import { bucketsOf, completeBuckets, IncompatibleBuckets, mergeQuantile } from "./merge-buckets.ts";
import { nativeQuantile } from "./merge-native.ts";
import {
  completeParts,
  createMissingParts,
  mergeScalars,
  type MissingPart,
  type MissingParts,
  ordinalOf,
  type Points,
  presentValues,
  type StatisticPoints,
  type WeightedPoints,
} from "./merge-scalars.ts";
import type { NativeLayout } from "./native-layout.ts";
import { createQuantiles, type ErrorBounds, type Quantiles } from "./quantile.ts";

/** Most series of one metric, over all pages. */
export const mergedSeriesMax = 5_000;

/** The result of one store for one metric. */
export interface PartSeries {
  readonly part: PlannedPart;
  /** The series of each statistic. */
  readonly ranges: readonly Pick<RangeResult<StoreSeries>, "series" | "pieces">[];
  /** The series for a percentile of a native histogram, in place of statistics. */
  readonly histograms: readonly HistogramSeries[];
  /** The layout of these histograms; undefined without any. */
  readonly layout: NativeLayout | undefined;
}

/** A finished series. A gap is NaN; a value can be infinite. */
export interface MergedSeries {
  readonly labels: Labels;
  /** Equal for equal labels only. */
  readonly key: string;
  readonly values: Float64Array;
  /** For a percentile only. */
  readonly bounds: ErrorBounds | undefined;
}

/** One series of one store. */
interface Row {
  readonly result: PartSeries;
  /** Index of the result. */
  readonly store: number;
  /** Index of the statistic. */
  readonly statistic: number;
  readonly series: StoreSeries | HistogramSeries;
}

interface Group extends Pick<MergedSeries, "labels" | "key"> {
  readonly rows: Row[];
}

type Finished = Pick<MergedSeries, "values" | "bounds">;

/** What a merge finds besides its series. */
interface MergedMetric {
  /** The number of groups. */
  readonly groups: number;
  /** Points that a store adds nothing to, because it has only some of their parts. */
  readonly missing: readonly MissingPart[];
}

/**
 * Yields the merged series of one metric, then returns what it found. The results are in the order of the stores.
 * Series without points are left out.
 *
 * @throws ApiError `incompatible_buckets`, `result_too_large`
 */
export function* mergeMetric(
  recipe: Recipe,
  results: readonly PartSeries[],
  plan: Plan,
): Generator<MergedSeries, MergedMetric> {
  const missing = createMissingParts();
  const finish = finisherOf(recipe, results, { plan, missing });
  const groups = groupRows(results, plan);
  for (const { labels, key, rows } of groups) {
    const finished = finish(rows);
    const values = withOneNaN(finished.values);
    if (hasNumber(values)) yield { labels, key, ...finished, values };
  }
  return { groups: groups.length, missing: missing.all() };
}

/** What finishing the groups of one metric shares. */
interface Finishing {
  readonly plan: Plan;
  readonly missing: MissingParts;
}

function finisherOf(
  recipe: Recipe,
  results: readonly PartSeries[],
  finishing: Finishing,
): (rows: readonly Row[]) => Finished {
  const { count } = finishing.plan.grid;
  if (recipe.kind === "scalar") {
    const weights = weightsOf(results);
    return (rows) => ({ values: finishScalars(recipe, rows, weights, finishing), bounds: undefined });
  }
  if (recipe.histogram === "Classic") return (rows) => finishBuckets(recipe, rows, finishing);
  const isExponential = results.every(({ layout }) => layout !== "custom");
  return (rows) => finishNative(recipe, rows, { count, isExponential });
}

function finishScalars(
  recipe: ScalarRecipe,
  rows: readonly Row[],
  weights: readonly number[],
  { plan, missing }: Finishing,
): Float64Array {
  const { count } = plan.grid;
  const merged = mergeStatistics(recipe, rows.flatMap(statisticPoints), { count, weights, missing });
  const [only] = merged;
  if (recipe.finish === onlyStatistic && only !== undefined) return presentValues(only, count);
  const finished = new Float64Array(count);
  // The loop allocates nothing for a point, because there can be half a million points.
  const values = merged.map(() => Number.NaN);
  for (let index = 0; index < count; index += 1) {
    // Whether a zero has a sign depends on the series of other points; the sum with zero has none.
    finished[index] = takePoint(merged, index, values)
      ? recipe.finish(values, plan.query.window.widthSeconds) + 0
      : Number.NaN;
  }
  return finished;
}

function statisticPoints({ result, store, statistic, series }: Row): readonly StatisticPoints[] {
  if (!("values" in series)) return [];
  return [{ ...series, store, statistic, ordinal: ordinalOf(result.part, series.labels) }];
}

interface Merging {
  readonly count: number;
  readonly weights: readonly number[];
  readonly missing: MissingParts;
}

/** Merges the statistics of one group over all stores, in the order of the recipe. */
export function mergeStatistics(
  { statistics }: Pick<ScalarRecipe, "statistics">,
  rows: readonly StatisticPoints[],
  { count, weights, missing }: Merging,
): readonly Points[] {
  const stores = completeParts(statistics, rows, count, missing);
  return statistics.map(({ merge, weighted }, statistic) => {
    const points = stores.flatMap(({ store, parts }): readonly WeightedPoints[] => {
      const own = parts[statistic];
      return own === undefined ? [] : [{ ...own, weight: weighted ? (weights[store] ?? 1) : 1 }];
    });
    return mergeScalars(points, merge, count);
  });
}

/** Copies one point of every statistic into `values`; false when one statistic has no such point. */
function takePoint(merged: readonly Points[], index: number, values: number[]): boolean {
  for (let statistic = 0; statistic < merged.length; statistic += 1) {
    const points = merged[statistic];
    if (points?.present[index] !== 1) return false;
    values[statistic] = points.values[index] ?? Number.NaN;
  }
  return true;
}

function finishBuckets(recipe: QuantileRecipe, rows: readonly Row[], { plan, missing }: Finishing): Quantiles {
  const { count } = plan.grid;
  const stores = [...Map.groupBy(rows, ({ store }) => store)].map(([store, own]) => {
    const series = own.flatMap((row) => ("values" in row.series ? [row.series] : []));
    const { buckets, lacking } = completeBuckets(bucketsOf(series, count), count);
    for (const part of lacking) missing.add({ store, ...part });
    return buckets;
  });
  try {
    return mergeQuantile(stores, recipe.quantile, count);
  } catch (error) {
    if (!(error instanceof IncompatibleBuckets)) throw error;
    const id = rows[0]?.result.part.metric.entry.metric.id ?? "the metric";
    const detail = `the histograms of ${id} share too few bounds across stores; select a region with filter[region]`;
    throw invalidField("incompatible_buckets", "filter[region]", detail);
  }
}

function finishNative(
  { quantile }: QuantileRecipe,
  rows: readonly Row[],
  { count, isExponential }: { readonly count: number; readonly isExponential: boolean },
): Quantiles {
  const all = rows.flatMap(({ series }) => ("histograms" in series ? [series.histograms] : []));
  return createQuantiles(count, (index) => {
    const histograms = all.flatMap((own) => own[index] ?? []);
    return nativeQuantile({ histograms, isExponential }, quantile);
  });
}

function groupRows(results: readonly PartSeries[], plan: Plan): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const [store, result] of results.entries()) {
    const all = [...result.ranges.map(({ series }) => series), result.histograms];
    for (const [statistic, own] of all.entries())
      for (const series of own) addRow(groups, { result, store, statistic, series }, plan);
  }
  return [...groups.values()];
}

function addRow(groups: Map<string, Group>, row: Row, plan: Plan): void {
  const labels = governedLabels(row.result.part, plan.query.groupBy, row.series.labels);
  const key = labelsKey(labels);
  const group = groups.get(key);
  if (group !== undefined) {
    group.rows.push(row);
    return;
  }
  groups.set(key, { labels, key, rows: [row] });
  if (groups.size > mergedSeriesMax) {
    const detail = `the result has more than ${mergedSeriesMax} series; filter more or group by fewer labels`;
    throw invalidField("result_too_large", "group_by", detail);
  }
}

/** The factors of stores relative to the shortest interval, so that equal stores have 1. */
function weightsOf(results: readonly PartSeries[]): readonly number[] {
  const shortest = Math.min(...results.map(({ part }) => part.store.intervalSeconds));
  return results.map(({ part }) => part.store.intervalSeconds / shortest);
}

/** Replaces every NaN with the same one, because the bytes of NaN differ and equal responses have equal bytes. */
function withOneNaN(values: Float64Array): Float64Array {
  for (let index = 0; index < values.length; index += 1)
    if (Number.isNaN(values[index])) return values.map((value) => (Number.isNaN(value) ? Number.NaN : value));
  return values;
}

function hasNumber(values: Float64Array): boolean {
  for (let index = 0; index < values.length; index += 1) if (!Number.isNaN(values[index])) return true;
  return false;
}
