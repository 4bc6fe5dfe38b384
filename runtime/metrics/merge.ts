import { Refusal } from "../errors/refusal.ts";
import type { StoreSeries } from "../stores/matrix.ts";
import type { QuantileRecipe, Recipe, ScalarRecipe } from "./kinds/recipe.ts";
import { governedLabels, labelsKey, type Labels } from "./labels.ts";
import { bucketsOf, IncompatibleBuckets, mergeQuantile } from "./merge-buckets.ts";
import { mergeScalars, type WeightedPoints } from "./merge-scalars.ts";
import type { PlannedPart, Plan } from "./plan.ts";

/** Series that one metric may have before they are paged. */
export const mergedSeriesMax = 5_000;

/** What one store answered for one metric: for each statistic its series. */
export interface PartAnswer {
  readonly part: PlannedPart;
  readonly ranges: readonly (readonly StoreSeries[])[];
}

/** A finished series: NaN is a gap, nothing else is without a number. */
export interface MergedSeries {
  readonly labels: Labels;
  readonly values: Float64Array;
}

/** One series of one statistic in one store. */
interface Row {
  /** Index of the statistic. */
  readonly statistic: number;
  readonly part: PlannedPart;
  readonly series: StoreSeries;
}

interface Group {
  readonly labels: Labels;
  readonly rows: Row[];
}

/**
 * The series of one metric from the partials of its stores, which are in store order. Series without any point are left
 * out.
 *
 * @throws Refusal `incompatible_buckets`, `result_too_large`
 */
export function mergeMetric(recipe: Recipe, answers: readonly PartAnswer[], plan: Plan): readonly MergedSeries[] {
  const weights = weightsOf(answers);
  const groups = groupRows(answers, plan);
  return groups
    .map(({ labels, rows }) => ({ labels, values: finite(finish(recipe, rows, weights, plan)) }))
    .filter(({ values }) => values.some((value) => !Number.isNaN(value)));
}

type Weights = ReadonlyMap<PlannedPart, number>;

function finish(recipe: Recipe, rows: readonly Row[], weights: Weights, plan: Plan): Float64Array {
  return recipe.kind === "quantile"
    ? finishQuantile(recipe, rows, plan)
    : finishScalars(recipe, rows, weights, plan);
}

function finishScalars(recipe: ScalarRecipe, rows: readonly Row[], weights: Weights, plan: Plan): Float64Array {
  const { count } = plan.grid;
  const merged = recipe.statistics.map(({ merge, weighted }, statistic) => {
    const points = rows
      .filter((row) => row.statistic === statistic)
      .map(({ part, series }): WeightedPoints => ({
        values: series.values,
        present: series.present,
        weight: weighted ? (weights.get(part) ?? 1) : 1,
      }));
    return mergeScalars(points, merge, count);
  });
  const values = merged.map(() => Number.NaN);
  return new Float64Array(count).map((_, index) => {
    for (const [statistic, points] of merged.entries()) {
      if (points.present[index] !== 1) return Number.NaN;
      values[statistic] = points.values[index] ?? Number.NaN;
    }
    return recipe.finish(values, plan.query.window.stepSeconds);
  });
}

function finishQuantile(recipe: QuantileRecipe, rows: readonly Row[], plan: Plan): Float64Array {
  const stores = Map.groupBy(rows, ({ part }) => part)
    .values()
    .map((own) => bucketsOf(own.map(({ series }) => series), plan.grid.count));
  try {
    return mergeQuantile([...stores], recipe.quantile, plan.grid.count);
  } catch (error) {
    if (!(error instanceof IncompatibleBuckets)) throw error;
    const detail = "the histograms of these stores share too few bounds; ask one region with filter[region]";
    throw new Refusal("incompatible_buckets", detail, {
      errors: [{ field: "filter[region]", code: "incompatible_buckets", detail }],
    });
  }
}

function groupRows(answers: readonly PartAnswer[], plan: Plan): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const { part, ranges } of answers) {
    for (const [statistic, all] of ranges.entries()) {
      for (const series of all) addRow(groups, { statistic, part, series }, plan);
    }
  }
  return [...groups.values()];
}

function addRow(groups: Map<string, Group>, row: Row, plan: Plan): void {
  const labels = governedLabels(row.part.held.store, plan.query.groupBy, row.series.labels);
  const key = labelsKey(labels);
  const group = groups.get(key);
  if (group !== undefined) {
    group.rows.push(row);
    return;
  }
  groups.set(key, { labels, rows: [row] });
  if (groups.size > mergedSeriesMax) {
    const detail = `the result has more than ${mergedSeriesMax} series; filter more or group by fewer labels`;
    throw new Refusal("result_too_large", detail, {
      errors: [{ field: "group_by", code: "result_too_large", detail }],
    });
  }
}

/** Relative to the most often sampled store, so that equal stores are added as they are. Source: design §5 rule 3. */
function weightsOf(answers: readonly PartAnswer[]): Weights {
  const shortest = Math.min(...answers.map(({ part }) => part.held.intervalSeconds));
  return new Map(answers.map(({ part }) => [part, part.held.intervalSeconds / shortest]));
}

/** One NaN for every gap, so that equal answers are equal bytes. */
function finite(values: Float64Array): Float64Array {
  return values.map((value) => (Number.isFinite(value) ? value : Number.NaN));
}
