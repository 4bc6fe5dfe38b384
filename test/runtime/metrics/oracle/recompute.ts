import {
  ends,
  inStore,
  keyOf,
  kinds,
  quantiles,
  widthOf,
  type ResponseGrid,
  type AskedSeries,
  type SeriesPoints,
} from "./asked.ts";
import { boundOf, type Sample } from "./generated-series.ts";
import { nativeIncrease, nativeQuantileBounds, type HistogramSample, type RawHistogram } from "./native-functions.ts";
import {
  anchoredIncrease,
  avgOverTime,
  countOverTime,
  increase,
  maxOverTime,
  minOverTime,
  quantileOf,
  sumOverTime,
  type RangeFunction,
} from "./range-functions.ts";
import { victoriaIncrease } from "./victoria-functions.ts";

/** A series as a store keeps it, and which store that was. */
export interface RawSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly Sample[];
  readonly histograms: readonly HistogramSample[];
  readonly store: string;
}

/**
 * Where a value must lie. More than one value only for a percentile whose rank falls on the edge of a bucket, and where
 * a store guesses.
 */
export interface Expected {
  readonly low: number;
  readonly high: number;
  /** Whether there may be no value at all. @default false */
  readonly isOptional?: boolean;
}

/** By whose rules increases are computed. */
type Rules = "Prometheus" | "VictoriaMetrics";

/** Rounding may put a rank that equals a count on either side of it. */
const rankTolerance = 1e-9;

type Raw = (name: string) => readonly RawSeries[];
type Values = (own: readonly RawSeries[], endMs: number) => Expected | undefined;
/** What one series comes to in one range. */
type Rule = (series: RawSeries, endMs: number) => Expected | undefined;

/** The answer from raw samples alone: no PromQL, none of the product's code. */
export function recompute(
  asked: AskedSeries,
  grid: ResponseGrid,
  raw: Raw,
  rules: Rules = "Prometheus",
): SeriesPoints<Expected> {
  const selected = selectorsOf(asked).flatMap((name) => raw(name).filter(({ labels }) => matches(asked, labels)));
  const groups = Map.groupBy(selected, ({ labels }) => keyOf(asked.groupBy, (label) => labels[inStore(label)]));
  const value = valueOf(asked, rulesOf(rules, widthOf(grid) * 1_000));
  const series = [...groups].map(([key, own]) => [key, pointsOf(own, grid, value)] as const);
  return new Map(series.filter(([, points]) => points.size > 0));
}

function pointsOf(own: readonly RawSeries[], grid: ResponseGrid, value: Values): ReadonlyMap<number, Expected> {
  const points = ends(grid).flatMap((ms) => {
    const expected = value(own, ms);
    return expected === undefined || !isThere(expected) ? [] : [[ms, expected] as const];
  });
  return new Map(points);
}

/** What is no finite number is no point. */
function isThere({ low, high }: Expected): boolean {
  return Number.isFinite(low) || (low !== high && !Number.isNaN(low) && !Number.isNaN(high));
}

function matches({ tenant, filters }: AskedSeries, labels: Readonly<Record<string, string>>): boolean {
  const wanted = { ...filters, tenant };
  return Object.entries(wanted).every(([label, value]) => labels[inStore(label)] === value);
}

function selectorsOf({ metric, agg }: AskedSeries): readonly string[] {
  const { kind, name } = kinds[metric];
  if (kind !== "histogram" && kind !== "anchoredHistogram") return [name];
  return agg in quantiles ? [`${name}_bucket`] : [`${name}_sum`, `${name}_count`];
}

interface RangeRules {
  readonly rangeMs: number;
  readonly of: (fn: RangeFunction) => Rule;
  readonly increase: Rule;
  readonly anchored: Rule;
  readonly native: (series: RawSeries, endMs: number) => RawHistogram | undefined;
}

function rulesOf(rules: Rules, rangeMs: number): RangeRules {
  const of =
    (fn: RangeFunction): Rule =>
    ({ samples }, endMs) =>
      one(fn(samples, endMs, rangeMs));
  return {
    rangeMs,
    of,
    increase: rules === "Prometheus" ? of(increase) : ({ samples }, endMs) => victoriaIncrease(samples, endMs, rangeMs),
    anchored: of(anchoredIncrease),
    native: ({ histograms }, endMs) => nativeIncrease(histograms, endMs, rangeMs),
  };
}

function one(value: number | undefined): Expected | undefined {
  return value === undefined ? undefined : { low: value, high: value };
}

function valueOf(asked: AskedSeries, rules: RangeRules): Values {
  const { kind } = kinds[asked.metric];
  switch (kind) {
    case "gauge":
      return gaugeValue(asked, rules);
    case "counter":
      return counterValue(asked, rules, rules.increase);
    case "anchored":
      return counterValue(asked, rules, rules.anchored);
    case "ratio":
      return ofStores(
        (own, ms) =>
          add(rules.increase)(
            own.filter(({ labels }) => labels["result"] === "ok"),
            ms,
          ),
        add(rules.increase),
        { isZeroWithout: true },
      );
    case "histogram":
      return histogramValue(asked, rules.increase);
    case "anchoredHistogram":
      return histogramValue(asked, rules.anchored);
    case "native":
      return nativeValue(asked, rules);
    default:
      return kind satisfies never;
  }
}

function gaugeValue({ agg }: AskedSeries, { of }: RangeRules): Values {
  if (agg === "sum") return add(of(avgOverTime));
  if (agg === "min") return extreme(of(minOverTime), (a, b) => a < b);
  if (agg === "max") return extreme(of(maxOverTime), (a, b) => a > b);
  return ofStores(add(of(sumOverTime)), add(of(countOverTime)));
}

function counterValue({ agg }: AskedSeries, { rangeMs }: RangeRules, rise: Rule): Values {
  if (agg === "sum") return add(rise);
  const perSecond = { low: rangeMs / 1_000, high: rangeMs / 1_000 };
  if (agg === "avg") return (own, ms) => over(add(rise)(own, ms), perSecond);
  return extreme(rise, agg === "min" ? (a, b) => a < b : (a, b) => a > b);
}

function histogramValue({ metric, agg }: AskedSeries, rise: Rule): Values {
  const q = quantiles[agg];
  if (q !== undefined) return (own, ms) => quantileBounds(own, ms, { rise, q });
  const part = (suffix: string) => (own: readonly RawSeries[], ms: number) => {
    const name = `${kinds[metric].name}${suffix}`;
    return add(rise)(
      own.filter(({ labels }) => labels["__name__"] === name),
      ms,
    );
  };
  return agg === "sum" ? part("_sum") : ofStores(part("_sum"), part("_count"));
}

function nativeValue({ metric, agg }: AskedSeries, { native }: RangeRules): Values {
  const increases = (own: readonly RawSeries[], ms: number): readonly RawHistogram[] =>
    own.flatMap((series) => native(series, ms) ?? []);
  const total = (values: readonly number[]): Expected | undefined =>
    one(values.length === 0 ? undefined : values.reduce((a, b) => a + b, 0));
  const q = quantiles[agg];
  if (q !== undefined) {
    return (own, ms) => {
      const histograms = increases(own, ms);
      return histograms.length === 0 ? undefined : nativeQuantileBounds(histograms, q, metric !== "native_ms");
    };
  }
  const sum: Values = (own, ms) => total(increases(own, ms).map((histogram) => histogram.sum));
  return agg === "sum" ? sum : (own, ms) => over(sum(own, ms), total(increases(own, ms).map(({ count }) => count)));
}

/** What each series comes to. */
function each(rule: Rule) {
  return (own: readonly RawSeries[], ms: number): readonly Expected[] =>
    own.flatMap((series) => rule(series, ms) ?? []);
}

function add(rule: Rule): Values {
  return (own, ms) => {
    return sumOf(each(rule)(own, ms));
  };
}

function sumOf(values: readonly Expected[]): Expected | undefined {
  if (values.length === 0) return undefined;
  const sum = (pick: (value: Expected) => number): number => values.reduce((total, value) => total + pick(value), 0);
  return { low: sum(({ low }) => low), high: sum(({ high }) => high), ...optionalUnlessSome(values) };
}

/** The least or the most; NaN alone is what nothing at all comes to, and never wins over a number. */
function extreme(rule: Rule, isBetter: (a: number, b: number) => boolean): Values {
  return (own, ms) => {
    const values = each(rule)(own, ms);
    if (values.length === 0) return undefined;
    const best = (numbers: readonly number[]): number =>
      numbers.reduce((a, b) => (isBetter(b, a) || Number.isNaN(a) ? b : a), Number.NaN);
    const sure = values.filter(({ isOptional }) => isOptional !== true);
    const ofAll = [best(values.map(({ low }) => low)), best(values.map(({ high }) => high))];
    // One that may not be there may or may not win.
    const ofSure = sure.length === 0 ? [] : [best(sure.map(({ low }) => low)), best(sure.map(({ high }) => high))];
    const bounds = [...ofAll, ...ofSure];
    return { low: Math.min(...bounds), high: Math.max(...bounds), ...optionalUnlessSome(values) };
  };
}

/**
 * A quotient of sums over the stores that have both parts.
 *
 * @param isZeroWithout a store with only the lower part has 0 of the upper one
 */
function ofStores(above: Values, below: Values, { isZeroWithout = false } = {}): Values {
  return (own, ms) => {
    const stores = [...Map.groupBy(own, ({ store }) => store).values()].flatMap((series) => {
      const [upper, lower] = [above(series, ms), below(series, ms)];
      if (lower === undefined || (upper === undefined && !isZeroWithout)) return [];
      return [{ upper: isZeroWithout ? orZero(upper) : (upper ?? lower), lower }];
    });
    return over(sumOf(stores.map(({ upper }) => upper)), sumOf(stores.map(({ lower }) => lower)));
  };
}

/** 0 where there is nothing, or may be. */
function orZero(value: Expected | undefined): Expected {
  if (value === undefined) return { low: 0, high: 0 };
  return value.isOptional === true ? { low: Math.min(0, value.low), high: value.high } : value;
}

function over(above: Expected | undefined, below: Expected | undefined): Expected | undefined {
  if (above === undefined || below === undefined) return undefined;
  const [low, high] = [above.low / below.high, above.high / below.low];
  const mayBeEmpty = below.low <= 0 && below.high > 0;
  if (![above, below].some(({ isOptional }) => isOptional === true) && !mayBeEmpty) return { low, high };
  return { low: Number.isNaN(low) ? 0 : low, high: Number.isNaN(high) ? Infinity : high, isOptional: true };
}

function optionalUnlessSome(values: readonly Expected[]): Pick<Expected, "isOptional"> {
  return values.every(({ isOptional }) => isOptional === true) ? { isOptional: true } : {};
}

interface QuantileRule {
  readonly rise: Rule;
  readonly q: number;
}

/** Buckets of each store summed by bound, then of all stores by the bounds that they share. */
function quantileBounds(own: readonly RawSeries[], endMs: number, { rise, q }: QuantileRule): Expected {
  const perStore = [...Map.groupBy(own, ({ store }) => store).values()]
    .map((series) => bucketsAt(series, endMs, rise))
    .filter((buckets) => buckets.size > 0);
  return sharedQuantile(perStore, q);
}

/** The quantile of cumulative buckets by bound, over the bounds that all of some stores have. */
export function sharedQuantile(perStore: readonly ReadonlyMap<number, number>[], q: number): Expected {
  const shared = [...(perStore[0] ?? new Map<number, number>()).keys()]
    .filter((bound) => perStore.every((buckets) => buckets.has(bound)))
    .sort((a, b) => a - b);
  const sum = (bound: number): number => perStore.reduce((total, counts) => total + (counts.get(bound) ?? 0), 0);
  const buckets = shared.map((bound) => [bound, sum(bound)] as const);
  return { low: quantileOf(q * (1 - rankTolerance), buckets), high: quantileOf(q * (1 + rankTolerance), buckets) };
}

function bucketsAt(series: readonly RawSeries[], endMs: number, rise: Rule): ReadonlyMap<number, number> {
  const buckets = new Map<number, number>();
  for (const bucket of series) {
    const bound = boundOf(bucket.labels["le"]);
    const risen = rise(bucket, endMs);
    if (risen !== undefined) buckets.set(bound, (buckets.get(bound) ?? 0) + risen.low);
  }
  return buckets;
}
