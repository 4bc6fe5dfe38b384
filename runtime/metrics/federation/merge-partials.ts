import { refuseField } from "../../errors/refusal.ts";
import type { HistogramSeries } from "../../stores/prometheus/histogram-matrix.ts";
import type { StoreLabels, StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { Statistic } from "../promql/kinds/recipe.ts";
import { governedLabels, labelsKey, type Labels } from "../planning/labels.ts";
import { bucketsOf, IncompatibleBuckets, sharedBuckets } from "../aggregation/merge-buckets.ts";
import { mergeScalars } from "../aggregation/merge-scalars.ts";
import { mergedSeriesMax } from "../aggregation/merge.ts";
import type { PlannedPart } from "../planning/plan.ts";

/** What one own store answered. */
export interface OwnSeries<Series> {
  readonly part: PlannedPart;
  readonly series: readonly Series[];
}

/** Of the question. */
export interface PartialShape {
  readonly groupBy: Parameters<typeof governedLabels>[1];
  readonly count: number;
  /** Seconds between samples that the asker weighs this region with. */
  readonly intervalSeconds: number;
}

/** The series of one group in one store. */
interface Row<Series> {
  readonly part: PlannedPart;
  readonly labels: Labels;
  readonly series: Series;
}

/** Counts native histograms of one group that several stores have, which are merged where all of them are. */
const ordinalLabel = "ordinal";

/** One statistic over all own stores: one series for each group, with the labels of the grouping and no others. */
export function mergeStatistic(
  answers: readonly OwnSeries<StoreSeries>[],
  { merge, weighted }: Statistic,
  shape: PartialShape,
): readonly StoreSeries[] {
  return groupsOf(answers, shape).map((rows) => {
    const points = rows.map(({ part, series: { values, present } }) => {
      return { values, present, weight: weighted ? part.store.intervalSeconds / shape.intervalSeconds : 1 };
    });
    return { labels: labelsOf(rows), ...mergeScalars(points, merge, shape.count) };
  });
}

/** The buckets of a classic histogram over all own stores. @throws Refusal `incompatible_buckets` */
export function mergeBuckets(answers: readonly OwnSeries<StoreSeries>[], shape: PartialShape): readonly StoreSeries[] {
  return groupsOf(answers, shape).flatMap((rows) => {
    const stores = Map.groupBy(rows, ({ part }) => part).values();
    const own = [...stores].map((all) =>
      bucketsOf(
        all.map(({ series }) => series),
        shape.count,
      ),
    );
    return [...shared(own, shape.count)].map(([bound, { values, present }]) => ({
      labels: { ...labelsOf(rows), le: bound === Infinity ? "+Inf" : String(bound) },
      values,
      present,
    }));
  });
}

function shared(stores: Parameters<typeof sharedBuckets>[0], count: number): ReturnType<typeof sharedBuckets> {
  try {
    return sharedBuckets(stores, count);
  } catch (error) {
    if (!(error instanceof IncompatibleBuckets)) throw error;
    throw refuseField("incompatible_buckets", "ask.part", "the histograms of the stores here share too few bounds");
  }
}

/** Native histograms of all own stores, each as its store has it. Only together do they say how they are laid out. */
export function gatherNative(
  answers: readonly OwnSeries<HistogramSeries>[],
  shape: PartialShape,
): readonly HistogramSeries[] {
  return groupsOf(answers, shape).flatMap((rows) =>
    rows.map(({ series }, ordinal) => ({
      labels: withOrdinal(labelsOf(rows), ordinal),
      histograms: series.histograms,
    })),
  );
}

/**
 * Labelled things of all own stores by group, with the labels that {@link gatherNative} gives the same store's series.
 */
export function gatherLabelled<Series extends { readonly labels: StoreLabels }>(
  answers: readonly OwnSeries<Series>[],
  shape: PartialShape,
): readonly Series[] {
  return groupsOf(answers, shape).flatMap((rows) =>
    rows.map(({ series }, ordinal) => ({ ...series, labels: withOrdinal(labelsOf(rows), ordinal) })),
  );
}

/** @throws Refusal `result_too_large` */
function groupsOf<Series extends { readonly labels: StoreLabels }>(
  answers: readonly OwnSeries<Series>[],
  { groupBy }: PartialShape,
): readonly (readonly Row<Series>[])[] {
  const rows = answers.flatMap(({ part, series }) =>
    series.map((one): Row<Series> => ({
      part,
      labels: governedLabels(part, groupBy, one.labels),
      series: one,
    })),
  );
  const groups = [...Map.groupBy(rows, ({ labels }) => labelsKey(labels)).values()];
  if (groups.length <= mergedSeriesMax) return groups;
  throw refuseField("result_too_large", "ask.group_by", `the partial has more than ${mergedSeriesMax} groups`);
}

function labelsOf<Series>([first]: readonly Row<Series>[]): StoreLabels {
  return { ...first?.labels };
}

function withOrdinal(labels: StoreLabels, ordinal: number): StoreLabels {
  return ordinal === 0 ? labels : { ...labels, [ordinalLabel]: String(ordinal) };
}
