import type { HistogramSeries, PointGrid, StoreHistogram, StoreSeries } from "../../stores/prometheus/matrix.ts";
import { joinedLater, type RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import { gravest } from "../../stores/prometheus/api-response.ts";

const dayMs = 86_400_000;
/** Least points of a split; where a day has fewer, a split is several days long. */
const splitPointsMin = 288;

/** Adjacent points that one request reads. */
export interface RangeSplit {
  readonly grid: PointGrid;
  /** Index of its first point in the whole grid. */
  readonly offset: number;
}

/**
 * Splits a grid at the ends of whole days. A store then reads the days of a long window in parallel, and overlapping
 * windows share splits. Splits of coarse points are several days long, and none is shorter than a point is wide: each
 * split reads the samples of a whole point before its first one.
 */
export function splitRange({ startMs, stepMs, count }: PointGrid, widthMs: number): readonly RangeSplit[] {
  const days = Math.max(1, Math.floor((splitPointsMin * stepMs) / dayMs), Math.ceil(widthMs / dayMs));
  const lengthMs = days * dayMs;
  const splits: RangeSplit[] = [];
  for (let offset = 0; offset < count;) {
    const firstMs = startMs + offset * stepMs;
    // A point belongs to the day in which it ends; a point at midnight belongs to the day before.
    const endMs = Math.ceil(firstMs / lengthMs) * lengthMs;
    const points = Math.min(count - offset, Math.floor((endMs - firstMs) / stepMs) + 1);
    splits.push({ offset, grid: { startMs: firstMs, stepMs, count: points } });
    offset += points;
  }
  return splits;
}

/** The series of one split. */
export interface SplitResponse<Series> {
  readonly split: RangeSplit;
  readonly series: readonly Series[];
}

/** Joins the series of all splits to series over the whole grid. */
export function joinSeries(
  responses: readonly SplitResponse<StoreSeries>[],
  { count }: PointGrid,
): readonly StoreSeries[] {
  if (responses.length === 1) return responses[0]?.series ?? [];
  return join(responses, {
    make: (labels) => ({ labels, values: new Float64Array(count), present: new Uint8Array(count) }),
    put: (whole, part, offset) => {
      whole.values.set(part.values, offset);
      whole.present.set(part.present, offset);
    },
  });
}

/** Joins native histograms as {@link joinSeries} joins numbers. */
export function joinHistograms(
  responses: readonly SplitResponse<HistogramSeries>[],
  { count }: PointGrid,
): readonly HistogramSeries[] {
  if (responses.length === 1) return responses[0]?.series ?? [];
  return join<HistogramSeries, HistogramSeries & { readonly histograms: (StoreHistogram | undefined)[] }>(responses, {
    make: (labels) => ({ labels, histograms: Array.from({ length: count }) }),
    put: (whole, part, offset) => {
      for (const [index, histogram] of part.histograms.entries()) whole.histograms[offset + index] = histogram;
    },
  });
}

interface SplitRead<Series> {
  readonly split: RangeSplit;
  readonly result: RangeResult<Series>;
}

/** One result over all splits, joined when its series are read. */
export function joinSplits<Series>(
  reads: readonly SplitRead<Series>[],
  joinOwn: (own: readonly SplitResponse<Series>[]) => readonly Series[],
): RangeResult<Series> {
  const hasPieces = reads.every(({ result }) => result.pieces !== undefined);
  const pieces = reads.flatMap(({ split, result }) =>
    (result.pieces ?? []).map((piece) => ({ ...piece, offset: split.offset + piece.offset })),
  );
  const warning = gravest(reads.map(({ result }) => result.warning));
  return joinedLater({ pieces: hasPieces ? pieces : undefined, warning }, () =>
    joinOwn(reads.map(({ split, result: { series } }) => ({ split, series }))),
  );
}

interface Joining<Series, Whole> {
  readonly make: (labels: Readonly<Record<string, string>>) => Whole;
  readonly put: (whole: Whole, part: Series, offset: number) => void;
}

function join<Series extends { readonly labels: Readonly<Record<string, string>> }, Whole = Series>(
  responses: readonly SplitResponse<Series>[],
  { make, put }: Joining<Series, Whole>,
): readonly Whole[] {
  const wholes = new Map<string, Whole>();
  for (const { split, series } of responses) {
    for (const part of series) {
      const key = JSON.stringify(Object.entries(part.labels).sort(([a], [b]) => (a < b ? -1 : 1)));
      const whole = wholes.get(key) ?? make(part.labels);
      wholes.set(key, whole);
      put(whole, part, split.offset);
    }
  }
  return [...wholes.values()];
}
