import { keyOf, type SeriesPoints } from "../../runtime/metrics/oracle/asked.ts";
import { increase, within } from "../../runtime/metrics/oracle/range-functions.ts";
import { sharedQuantile, type Expected } from "../../runtime/metrics/oracle/recompute.ts";
import { bounds, leOf, threshold, type HeldSeries, type Region } from "./gap-stores.ts";

/**
 * The values of a query over stores with gaps, from their samples and the rule alone: a store that has only some parts
 * of a point adds nothing to it, a missing numerator is 0.
 */

export type Measure = "success" | "errors" | "average" | "fraction" | "p50" | "p95";

/** What a query asks for, in governed labels. */
export interface GapQuery {
  readonly measure: Measure;
  readonly tenant: string;
  readonly region?: Region | undefined;
  readonly service?: string | undefined;
  readonly groupBy: readonly ("region" | "service")[];
}

/** What the response must be. */
export interface GapValues {
  readonly points: SeriesPoints<Expected>;
  /** Regions with a store that lacks a part at some point. */
  readonly lacking: ReadonlySet<Region>;
  /** The histograms of some point share too few bounds. */
  readonly isIncompatible: boolean;
}

/** The parts of a quotient, the upper one first. */
interface Parts {
  readonly upper: (series: HeldSeries) => boolean;
  readonly lower: (series: HeldSeries) => boolean;
  /** A missing upper part is 0. */
  readonly isCounter: boolean;
}

const named =
  (name: string, le?: string) =>
  (series: HeldSeries): boolean =>
    series.name === name && series.labels["le"] === le;
const parts: Readonly<Record<Exclude<Measure, "p50" | "p95">, Parts>> = {
  success: { upper: named("ok_total"), lower: named("all_total"), isCounter: true },
  errors: { upper: named("errors_total"), lower: named("all_total"), isCounter: true },
  average: { upper: named("latency_sum"), lower: named("latency_count"), isCounter: false },
  fraction: { upper: named("latency_bucket", leOf(threshold)), lower: named("latency_count"), isCounter: false },
};

/** Computes the values at the end of each point. */
export function gapValues(
  held: readonly HeldSeries[],
  query: GapQuery,
  { ends, widthMs }: { readonly ends: readonly number[]; readonly widthMs: number },
): GapValues {
  const own = held.filter(
    ({ region, labels }) =>
      labels["tenant"] === query.tenant &&
      (query.region ?? region) === region &&
      (query.service ?? labels["service"]) === labels["service"],
  );
  const labelOf = (series: HeldSeries, label: string): string | undefined =>
    label === "region" ? series.region : series.labels[label];
  const groups = Map.groupBy(own, (series) => keyOf(query.groupBy, (label) => labelOf(series, label)));
  const lacking = new Set<Region>();
  let isIncompatible = false;
  const points = [...groups].map(([key, series]) => {
    const stores = [...Map.groupBy(series, ({ region }) => region)];
    const values = ends.flatMap((ms): readonly (readonly [number, Expected])[] => {
      const point = pointOf(query.measure, stores, { ms, widthMs });
      for (const region of point.lacking) lacking.add(region);
      isIncompatible ||= point.isIncompatible;
      const { value } = point;
      return value === undefined || !Number.isFinite(value.low) ? [] : [[ms, value]];
    });
    return [key, new Map(values)] as const;
  });
  return { points: new Map(points.filter(([, values]) => values.size > 0)), lacking, isIncompatible };
}

interface At {
  readonly ms: number;
  readonly widthMs: number;
}

interface Point {
  readonly value: Expected | undefined;
  readonly lacking: readonly Region[];
  readonly isIncompatible: boolean;
}

type Stores = readonly (readonly [Region, readonly HeldSeries[]])[];

function pointOf(measure: Measure, stores: Stores, at: At): Point {
  if (measure === "p50" || measure === "p95") return quantilePoint(measure === "p50" ? 0.5 : 0.95, stores, at);
  const { good, total, lacking } = eventsOf(measure, stores, at);
  const value = good === undefined || total === undefined ? undefined : good / total;
  return { value: value === undefined ? undefined : { low: value, high: value }, lacking, isIncompatible: false };
}

/** Both parts of a quotient, over the stores that have both. */
export function eventsOf(
  measure: keyof typeof parts,
  stores: Stores,
  at: At,
): { readonly good: number | undefined; readonly total: number | undefined; readonly lacking: readonly Region[] } {
  const { upper, lower, isCounter } = parts[measure];
  const lacking: Region[] = [];
  const sums: (readonly [number, number])[] = [];
  for (const [region, series] of stores) {
    const [uppers, lowers] = [series.filter(upper), series.filter(lower)];
    const isUneven = !isCounter && isOfOtherSamples(samplesIn(uppers, at), samplesIn(lowers, at));
    const [a, b] = [isUneven ? undefined : increaseOf(uppers, at), increaseOf(lowers, at)];
    if (a === undefined && b === undefined) continue;
    if (b === undefined || (a === undefined && !isCounter)) lacking.push(region);
    else sums.push([a ?? 0, b]);
  }
  const sum = (place: 0 | 1): number | undefined =>
    sums.length === 0 ? undefined : sums.reduce((total, own) => total + own[place], 0);
  return { good: sum(0), total: sum(1), lacking };
}

function quantilePoint(q: number, stores: Stores, at: At): Point {
  const lacking: Region[] = [];
  const whole: ReadonlyMap<number, number>[] = [];
  for (const [region, series] of stores) {
    const last = samplesIn(series.filter(named("latency_bucket", leOf(Infinity))), at);
    const buckets = new Map(
      bounds.flatMap((bound) => {
        const own = series.filter(named("latency_bucket", leOf(bound)));
        if (isOfOtherSamples(samplesIn(own, at), last)) return [];
        const risen = increaseOf(own, at);
        return risen === undefined ? [] : [[bound, risen] as const];
      }),
    );
    if (buckets.size === 0) continue;
    if (buckets.has(Infinity) && buckets.size > 1) whole.push(buckets);
    else lacking.push(region);
  }
  const all = new Set(whole.flatMap((buckets) => [...buckets.keys()]));
  const shared = [...all].filter((bound) => whole.every((buckets) => buckets.has(bound)));
  const isIncompatible = shared.length < all.size && shared.length < 2;
  if (whole.length === 0 || isIncompatible) return { value: undefined, lacking, isIncompatible };
  return { value: sharedQuantile(whole, q), lacking, isIncompatible };
}

function increaseOf(series: readonly HeldSeries[], { ms, widthMs }: At): number | undefined {
  const risen = series.flatMap(({ samples }) => increase(samples, ms, widthMs) ?? []);
  return risen.length === 0 ? undefined : risen.reduce((a, b) => a + b, 0);
}

function samplesIn(series: readonly HeldSeries[], { ms, widthMs }: At): number {
  return series.reduce((sum, { samples }) => sum + within(samples, ms - widthMs, ms).length, 0);
}

/** A part whose samples are not those of the other one was counted over other series, or another time. */
function isOfOtherSamples(a: number, b: number): boolean {
  return a > 0 && b > 0 && Math.abs(a / b - 1) > 0.0001;
}
