import { ends, inStore, keyOf, kinds, quantiles, type AnsweredGrid, type AskedSeries, type SeriesPoints } from "./asked.ts";
import { boundOf, type Sample } from "./generated-series.ts";
import {
  anchoredIncrease,
  avgOverTime,
  countOverTime,
  increase,
  least,
  maxOverTime,
  minOverTime,
  most,
  quantileOf,
  sumOverTime,
  type RangeFunction,
} from "./range-functions.ts";

/** A series as a store keeps it, and which store that was. */
export interface RawSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly Sample[];
  readonly store: string;
}

/** Where a value must lie. More than one value only for a percentile whose rank falls on the edge of a bucket. */
export interface Expected {
  readonly low: number;
  readonly high: number;
}

/** Rounding may put a rank that equals a count on either side of it. */
const rankTolerance = 1e-9;

type Raw = (name: string) => readonly RawSeries[];
type Values = (own: readonly RawSeries[], endMs: number) => number | Expected;

/** The answer from raw samples alone: no PromQL, none of the product's code. */
export function recompute(asked: AskedSeries, grid: AnsweredGrid, raw: Raw): SeriesPoints<Expected> {
  const selected = selectorsOf(asked).flatMap((name) => raw(name).filter(({ labels }) => matches(asked, labels)));
  const groups = Map.groupBy(selected, ({ labels }) => keyOf(asked.groupBy, (label) => labels[inStore(label)]));
  const value = valueOf(asked, grid.stepSeconds * 1_000);
  const series = [...groups].map(([key, own]) => [key, pointsOf(own, grid, value)] as const);
  return new Map(series.filter(([, points]) => points.size > 0));
}

function pointsOf(own: readonly RawSeries[], grid: AnsweredGrid, value: Values): ReadonlyMap<number, Expected> {
  const points = ends(grid).map((ms) => [ms, toExpected(value(own, ms))] as const);
  return new Map(points.filter(([, { low }]) => Number.isFinite(low)));
}

function toExpected(value: number | Expected): Expected {
  return typeof value === "number" ? { low: value, high: value } : value;
}

function matches({ tenant, filters }: AskedSeries, labels: Readonly<Record<string, string>>): boolean {
  const wanted = { ...filters, tenant };
  return Object.entries(wanted).every(([label, value]) => labels[inStore(label)] === value);
}

function selectorsOf({ metric, agg }: AskedSeries): readonly string[] {
  const { kind, name } = kinds[metric];
  if (kind !== "histogram") return [name];
  return agg in quantiles ? [`${name}_bucket`] : [`${name}_sum`, `${name}_count`];
}

function valueOf(asked: AskedSeries, rangeMs: number): Values {
  const { kind } = kinds[asked.metric];
  switch (kind) {
    case "gauge":
      return gaugeValue(asked, rangeMs);
    case "counter":
      return counterValue(asked, rangeMs, increase);
    case "anchored":
      return counterValue(asked, rangeMs, anchoredIncrease);
    case "ratio":
      return (own, ms) => {
        const ok = own.filter(({ labels }) => labels["result"] === "ok");
        return add(increase, rangeMs)(ok, ms) / add(increase, rangeMs)(own, ms);
      };
    case "histogram":
      return histogramValue(asked, rangeMs);
    default:
      return kind satisfies never;
  }
}

function gaugeValue({ agg }: AskedSeries, rangeMs: number): Values {
  if (agg === "sum") return add(avgOverTime, rangeMs);
  if (agg === "min") return (own, ms) => least([...each(minOverTime, rangeMs)(own, ms), Number.NaN]);
  if (agg === "max") return (own, ms) => most([...each(maxOverTime, rangeMs)(own, ms), Number.NaN]);
  return (own, ms) => add(sumOverTime, rangeMs)(own, ms) / add(countOverTime, rangeMs)(own, ms);
}

function counterValue({ agg }: AskedSeries, rangeMs: number, rise: RangeFunction): Values {
  if (agg === "sum") return add(rise, rangeMs);
  if (agg === "avg") return (own, ms) => add(rise, rangeMs)(own, ms) / (rangeMs / 1_000);
  return (own, ms) => (agg === "min" ? least : most)([...each(rise, rangeMs)(own, ms), Number.NaN]);
}

function histogramValue({ metric, agg }: AskedSeries, rangeMs: number): Values {
  const q = quantiles[agg];
  if (q !== undefined) return (own, ms) => quantileBounds(own, ms, rangeMs, q);
  const part = (suffix: string) => (own: readonly RawSeries[], ms: number) => {
    const name = `${kinds[metric].name}${suffix}`;
    return add(increase, rangeMs)(own.filter(({ labels }) => labels["__name__"] === name), ms);
  };
  return agg === "sum" ? part("_sum") : (own, ms) => part("_sum")(own, ms) / part("_count")(own, ms);
}

/** What each series comes to; NaN alone is what nothing at all comes to, and never wins over a number. */
function each(fn: RangeFunction, rangeMs: number) {
  return (own: readonly RawSeries[], ms: number): readonly number[] =>
    own.map(({ samples }) => fn(samples, ms, rangeMs)).filter((value) => value !== undefined);
}

function add(fn: RangeFunction, rangeMs: number) {
  return (own: readonly RawSeries[], ms: number): number => totalOf(each(fn, rangeMs)(own, ms));
}

function totalOf(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0);
}

/** Buckets of each store summed by bound, then of all stores by the bounds that they share. */
function quantileBounds(own: readonly RawSeries[], endMs: number, rangeMs: number, q: number): Expected {
  const perStore = [...Map.groupBy(own, ({ store }) => store).values()]
    .map((series) => bucketsAt(series, endMs, rangeMs))
    .filter((buckets) => buckets.size > 0);
  const shared = [...(perStore[0] ?? new Map<number, number>()).keys()]
    .filter((bound) => perStore.every((buckets) => buckets.has(bound)))
    .sort((a, b) => a - b);
  const buckets = shared.map((bound) => [bound, totalOf(perStore.map((counts) => counts.get(bound) ?? 0))] as const);
  return { low: quantileOf(q * (1 - rankTolerance), buckets), high: quantileOf(q * (1 + rankTolerance), buckets) };
}

function bucketsAt(series: readonly RawSeries[], endMs: number, rangeMs: number): ReadonlyMap<number, number> {
  const buckets = new Map<number, number>();
  for (const { labels, samples } of series) {
    const bound = boundOf(labels["le"]);
    const rise = increase(samples, endMs, rangeMs);
    if (rise !== undefined) buckets.set(bound, (buckets.get(bound) ?? 0) + rise);
  }
  return buckets;
}
