// The form of selectors: several governed queries that are asked and answered as one request.
import type { RegionState } from "../../../api/queries.ts";
import type { Aggregation, LabelName, SliceCondition } from "../../../crds/config.ts";
import { filterValues } from "./parameters.ts";

/**
 * What a selector computes: an aggregation as in `GET /v1/metrics/query`; the number of events, which are the
 * observations of a histogram and the denominator of a ratio; or the share of a histogram's observations up to the
 * threshold of an SLO.
 */
export type Measure =
  | { readonly kind: "aggregation"; readonly aggregation: Aggregation }
  | { readonly kind: "count" }
  | { readonly kind: "fraction"; readonly threshold: number };

/** One query over one metric, without its times. No name in it is checked against a catalog or rights. */
export interface MetricSelector {
  readonly metric: string;
  readonly measure: Measure;
  /** The values of each label are sorted and without duplicates; the tenant has one. */
  readonly filters: ReadonlyMap<LabelName, readonly string[]>;
  /** Sorted, without duplicates. */
  readonly groupBy: readonly LabelName[];
  /**
   * The time that each point covers.
   *
   * @default the greater of the smallest step and the step; in an instant the smallest step
   */
  readonly widthSeconds: number | undefined;
  /** Judges points as slices of time, each `widthSeconds` long. @default the points are the result */
  readonly slices?: SelectorSlices;
  /** How much earlier its points are than the stamps. @default 0 */
  readonly offsetSeconds?: number;
}

/** The slices of a window that meet a condition. */
export interface SelectorSlices {
  readonly condition: SliceCondition;
  /** A whole number of slices. */
  readonly windowSeconds: number;
  /** The share of slices that meet the condition, or the number of slices with a value. Neither without a value. */
  readonly result: "share" | "count";
}

/** Most selectors of one request. */
export const selectorsMax = 10;

/** One request for several selectors. */
export interface SelectorsRequest {
  /** 1 to {@link selectorsMax}. */
  readonly selectors: readonly MetricSelector[];
  readonly times: SelectorTimes;
  /** The tenant that a header names. @default none */
  readonly tenant: string | undefined;
  /** Makes a response with missing data an error. */
  readonly isCompleteRequired: boolean;
}

/** One series of a selector. */
export interface SelectorSeries {
  readonly labels: Readonly<Partial<Record<LabelName, string>>>;
  /** One value for each stamp; NaN if there is no point. */
  readonly values: Float64Array;
}

/** The response to a request for selectors. */
export interface SelectorsResult {
  /** The stamps as requested, without those in the future. */
  readonly stamps: Stamps;
  /** In the order of the request; the series of each selector are sorted by labels. */
  readonly selectors: readonly { readonly series: readonly SelectorSeries[] }[];
  /** Some data is missing. */
  readonly isPartial: boolean;
  readonly regions: readonly RegionState[];
  /** Sentences about named regions and environments that no store of a metric has. @default every name has one */
  readonly unmatched?: readonly string[];
  /** Sentences about metrics of which no store has a series, and about values that are NaN. @default none */
  readonly hints?: readonly string[];
  /** Quota, cost, cache and freshness. Source: seed "Operational Metrics API" §6. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * As `revalidate` of `MetricsResponse`; the series are the same objects.
   *
   * @default the request is handled like a new one
   */
  readonly revalidate?: ((nowMs: number) => Readonly<Record<string, string>> | undefined) | undefined;
  /** As `sent` of `MetricsResponse`. */
  readonly sent?: ((bytes: number) => void) | undefined;
}

/** The times that a request for selectors names: a range, or one instant. All are Unix milliseconds. */
export type SelectorTimes =
  | { readonly startMs: number; readonly endMs: number; readonly stepMs: number }
  | { readonly timeMs: number };

/** The stamps of a response to selectors, in Unix milliseconds. An instant has one. */
export interface Stamps {
  readonly startMs: number;
  readonly stepMs: number;
  readonly count: number;
}

/** Most metrics of one look-up of labels. */
export const lookUpMetricsMax = 10;

/** Checks the values of a matcher of PromQL like {@link filterValues}, but allows none of them and the empty one. */
export function matchedValues(values: readonly string[], field: string): readonly string[] {
  const named = values.filter((value) => value !== "");
  if (named.length === 0) return values.slice(0, 1);
  return [...(named.length < values.length ? [""] : []), ...filterValues(named, field)];
}
