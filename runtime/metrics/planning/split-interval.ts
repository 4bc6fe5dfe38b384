import type { HistogramSeries, StoreHistogram } from "../../stores/prometheus/histogram-matrix.ts";
import type { PointGrid, StoreSeries } from "../../stores/prometheus/matrix.ts";

const dayMs = 86_400_000;
/** Points of a split where a day of them would be fewer. */
const splitPointsMin = 288;

/** Neighbouring points that are asked for in one request. */
export interface RangeSplit {
  readonly grid: PointGrid;
  /** Place of its first point in the whole grid. */
  readonly offset: number;
}

/**
 * Cuts a grid where whole days end, so that a store works on a long window's days side by side, and windows that
 * overlap have splits in common. Splits of coarse points are several days long.
 */
export function splitRange({ startMs, stepMs, count }: PointGrid): readonly RangeSplit[] {
  const lengthMs = Math.max(1, Math.floor((splitPointsMin * stepMs) / dayMs)) * dayMs;
  const splits: RangeSplit[] = [];
  for (let offset = 0; offset < count;) {
    const firstMs = startMs + offset * stepMs;
    // A point belongs to the day in which it ends; midnight ends the day before.
    const endMs = Math.ceil(firstMs / lengthMs) * lengthMs;
    const points = Math.min(count - offset, Math.floor((endMs - firstMs) / stepMs) + 1);
    splits.push({ offset, grid: { startMs: firstMs, stepMs, count: points } });
    offset += points;
  }
  return splits;
}

/** What was answered for one split. */
export interface SplitResponse<Series> {
  readonly split: RangeSplit;
  readonly series: readonly Series[];
}

/** Series over the whole grid from series of its splits. */
export function joinSeries(
  answers: readonly SplitResponse<StoreSeries>[],
  { count }: PointGrid,
): readonly StoreSeries[] {
  if (answers.length === 1) return answers[0]?.series ?? [];
  return join(answers, {
    make: (labels) => ({ labels, values: new Float64Array(count), present: new Uint8Array(count) }),
    put: (whole, part, offset) => {
      whole.values.set(part.values, offset);
      whole.present.set(part.present, offset);
    },
  });
}

/** Series of native histograms over the whole grid from those of its splits. */
export function joinHistograms(
  answers: readonly SplitResponse<HistogramSeries>[],
  { count }: PointGrid,
): readonly HistogramSeries[] {
  if (answers.length === 1) return answers[0]?.series ?? [];
  return join<HistogramSeries, HistogramSeries & { readonly histograms: (StoreHistogram | undefined)[] }>(answers, {
    make: (labels) => ({ labels, histograms: Array.from({ length: count }) }),
    put: (whole, part, offset) => {
      for (const [index, histogram] of part.histograms.entries()) whole.histograms[offset + index] = histogram;
    },
  });
}

interface Joining<Series, Whole> {
  readonly make: (labels: Readonly<Record<string, string>>) => Whole;
  readonly put: (whole: Whole, part: Series, offset: number) => void;
}

function join<Series extends { readonly labels: Readonly<Record<string, string>> }, Whole = Series>(
  answers: readonly SplitResponse<Series>[],
  { make, put }: Joining<Series, Whole>,
): readonly Whole[] {
  const wholes = new Map<string, Whole>();
  for (const { split, series } of answers) {
    for (const part of series) {
      const key = JSON.stringify(Object.entries(part.labels).sort(([a], [b]) => (a < b ? -1 : 1)));
      const whole = wholes.get(key) ?? make(part.labels);
      wholes.set(key, whole);
      put(whole, part, split.offset);
    }
  }
  return [...wholes.values()];
}
