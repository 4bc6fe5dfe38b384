import type { PartialAnswer } from "../../../api/peers.ts";
import type { LabelName } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import type { HistogramSeries, StoreLabels, StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { StoreExemplar } from "../../stores/prometheus/prometheus-client.ts";
import { bucketsOf, IncompatibleBuckets, sharedBuckets } from "../merge/merge-buckets.ts";
import { mergeScalars, ordinalLabel } from "../merge/merge-scalars.ts";
import { mergedSeriesMax } from "../merge/merge.ts";
import { governedLabels, type Labels, labelsKey, type PlannedPart } from "../planning/plan.ts";
import type { Statistic } from "../promql/recipe.ts";
import { exemplarsPerSeriesMax, isShowable } from "../reads/exemplars.ts";

/** The series of one own store. */
export interface OwnSeries<Series> {
  readonly part: PlannedPart;
  readonly series: readonly Series[];
}

/** The shape that a partial request requires of its partial. */
export interface PartialShape {
  readonly groupBy: Parameters<typeof governedLabels>[1];
  readonly count: number;
  /** Seconds between samples by which the asking runtime weighs this region. */
  readonly intervalSeconds: number;
}

/** The series of one group in one store. */
interface Row<Series> {
  readonly part: PlannedPart;
  readonly labels: Labels;
  readonly series: Series;
}

/** Merges one statistic over all own stores: one series for each group, with only the labels of the grouping. */
export function mergeStatistic(
  results: readonly OwnSeries<StoreSeries>[],
  { merge, weighted }: Statistic,
  shape: PartialShape,
): readonly StoreSeries[] {
  return groupsOf(results, shape).map((rows) => {
    const points = rows.map(({ part, series: { values, present } }) => {
      return { values, present, weight: weighted ? part.store.intervalSeconds / shape.intervalSeconds : 1 };
    });
    return { labels: labelsOf(rows), ...mergeScalars(points, merge, shape.count) };
  });
}

/**
 * Gathers a statistic of every own store unmerged, when a value needs others too: only the asking runtime knows which
 * stores have all of them. The number of a store is the same in each statistic.
 */
export function gatherStatistic(
  results: readonly OwnSeries<StoreSeries>[],
  statistic: Statistic,
  shape: PartialShape,
): readonly StoreSeries[] {
  return results.flatMap((own, ordinal) =>
    mergeStatistic([own], statistic, shape).map((series) => ({
      ...series,
      labels: withOrdinal(series.labels, ordinal),
    })),
  );
}

/** Merges the buckets of a classic histogram over all own stores. @throws ApiError `incompatible_buckets` */
export function mergeBuckets(results: readonly OwnSeries<StoreSeries>[], shape: PartialShape): readonly StoreSeries[] {
  return groupsOf(results, shape).flatMap((rows) => {
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
    const detail = "the histograms of this region's stores share too few bounds; give them the same buckets";
    throw invalidField("incompatible_buckets", "ask.part", detail);
  }
}

/** Gathers the native histograms of all own stores unmerged, because only all regions together show their layout. */
export function gatherNative(
  results: readonly OwnSeries<HistogramSeries>[],
  shape: PartialShape,
): readonly HistogramSeries[] {
  return groupsOf(results, shape).flatMap((rows) =>
    rows.map(({ series }, ordinal) => ({
      labels: withOrdinal(labelsOf(rows), ordinal),
      histograms: series.histograms,
    })),
  );
}

/** Gathers labelled values of all own stores with the same labels as {@link gatherNative}. */
export function gatherLabelled<Series extends { readonly labels: StoreLabels }>(
  results: readonly OwnSeries<Series>[],
  shape: PartialShape,
): readonly Series[] {
  return groupsOf(results, shape).flatMap((rows) =>
    rows.map(({ series }, ordinal) => ({ ...series, labels: withOrdinal(labelsOf(rows), ordinal) })),
  );
}

/** @throws ApiError `result_too_large` */
function groupsOf<Series extends { readonly labels: StoreLabels }>(
  results: readonly OwnSeries<Series>[],
  { groupBy }: PartialShape,
): readonly (readonly Row<Series>[])[] {
  const rows = results.flatMap(({ part, series }) =>
    series.map((one): Row<Series> => ({
      part,
      labels: governedLabels(part, groupBy, one.labels),
      series: one,
    })),
  );
  const groups = [...Map.groupBy(rows, ({ labels }) => labelsKey(labels)).values()];
  if (groups.length <= mergedSeriesMax) return groups;
  throw invalidField(
    "result_too_large",
    "ask.group_by",
    `the partial has ${groups.length} groups, more than ${mergedSeriesMax}; filter more or group by fewer labels`,
  );
}

function labelsOf<Series>([first]: readonly Row<Series>[]): StoreLabels {
  return { ...first?.labels };
}

function withOrdinal(labels: StoreLabels, ordinal: number): StoreLabels {
  return ordinal === 0 ? labels : { ...labels, [ordinalLabel]: String(ordinal) };
}

/** Exemplars in a response to a peer: traces with the labels of the grouping. */
type PeerExemplars = NonNullable<PartialAnswer["exemplars"]>;

/** Selects the newest exemplars of each group of one store, each trace once, up to the limit of a response. */
export function exemplarsOfSeries(
  part: PlannedPart,
  groupBy: readonly LabelName[],
  exemplars: readonly StoreExemplar[],
): PeerExemplars {
  const all = exemplars.filter(isShowable).map((exemplar): PeerExemplars[number] => ({
    labels: governedLabels(part, groupBy, exemplar.seriesLabels),
    trace_id: exemplar.labels["trace_id"] ?? "",
    value: exemplar.value,
    timestamp_ms: exemplar.timestampMs,
  }));
  const groups = Map.groupBy(all, ({ labels }) => labelsKey(labels)).values();
  return [...groups].flatMap((own) => {
    const oldestFirst = own.toSorted((a, b) => a.timestamp_ms - b.timestamp_ms);
    const byTrace = new Map(oldestFirst.map((one) => [one.trace_id, one]));
    return [...byTrace.values()].sort((a, b) => b.timestamp_ms - a.timestamp_ms).slice(0, exemplarsPerSeriesMax);
  });
}
