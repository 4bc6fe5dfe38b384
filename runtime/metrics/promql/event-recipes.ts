// The recipes of events: their number, and the share of a histogram's observations up to a bound.
import type { MetricConfig, SeriesConfig, SourceConfig } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import type { Covered } from "./promql.ts";
import { nativeIncrease } from "./histogram-recipes.ts";
import { recipeOf } from "./recipe-of.ts";
import {
  covered,
  eventShare,
  increaseStatistic,
  onlyStatistic,
  type Recipe,
  samplesOf,
  type ScalarRecipe,
  type Statistic,
  type StoreScope,
} from "./recipe.ts";

/** A recipe whose last statistic is the number of all events. */
type EventsRecipe = Recipe & ScalarRecipe;

/** What is said of a source without events. */
const noEvents = {
  gauge: "a gauge has no events to count; use avg, sum, min or max",
  counter: "the number of events of a counter is its sum; use sum",
} as const;

/**
 * Counts the observations of a histogram or the events of the denominator of a ratio. The statistic is the last one of
 * avg, so that a peer reads it as a part of that.
 *
 * @throws ApiError `invalid_aggregation` for other metrics
 */
export function eventCountRecipe(metric: MetricConfig): EventsRecipe {
  const average = averageOf(metric);
  return {
    ...average,
    statistics: average.statistics.slice(-1),
    value: metric.source.kind === "ratio" ? "the increase of the denominator" : "the number of observations",
    finish: onlyStatistic,
  };
}

/**
 * The share of a histogram's observations up to a threshold: a bound of the buckets of a classic histogram. Its two
 * statistics are those that an objective with this threshold counts.
 *
 * @throws ApiError `invalid_aggregation` for other metrics
 */
export function eventFractionRecipe(metric: MetricConfig, threshold: number): EventsRecipe {
  const { id, source } = metric;
  const average = averageOf(metric);
  if (source.kind !== "histogram") throw measureError(id, "a ratio is already a fraction; use avg");
  const singledOut = source.type === "Native" ? nativeUpTo(source, threshold) : upTo(source, threshold);
  return {
    ...average,
    statistics: [singledOut, ...average.statistics.slice(-1)],
    value: "observations up to the threshold / all observations; there is no point without observations",
    finish: eventShare,
  };
}

/** Rejects a measure that a metric does not have. */
export function measureError(id: string, advice: string): Error {
  return invalidField("invalid_aggregation", "agg", `${id}: ${advice}`);
}

function averageOf(metric: MetricConfig): EventsRecipe {
  const { kind } = metric.source;
  if (kind === "gauge" || kind === "counter") throw measureError(metric.id, noEvents[kind]);
  const recipe = recipeOf(metric, "avg");
  if (recipe.kind === "scalar") return recipe;
  throw new TypeError(`${metric.id} has an average that is no number`);
}

type HistogramSource = Extract<SourceConfig, { readonly kind: "histogram" }>;

const upToName = "up to the threshold";

/**
 * The observations of native histograms up to a threshold, interpolated inside of a bucket as the store does it. Each
 * store interpolates in its own buckets, which are never coarser than those of a merged histogram.
 */
function nativeUpTo(source: HistogramSource, threshold: number): Statistic {
  return {
    name: upToName,
    noun: "observation up to the threshold",
    expr: (scope) => ({
      kind: "histogramPart",
      fn: "histogram_count",
      of: nativeIncrease(source, scope),
      upTo: threshold,
    }),
    merge: "sum",
    weighted: false,
    isAdditiveOverTime: false,
    absent: "none",
  };
}

function upTo(source: HistogramSource, threshold: number): Statistic {
  const bucket = bucketOf(source, threshold);
  const statistic = increaseStatistic(bucket, source.increase, {
    name: upToName,
    noun: "bucket of the threshold in all of its series",
    suffix: "_bucket",
    merge: "sum",
  });
  return covered(statistic, {
    part: { series: bucket, suffix: "_bucket" },
    whole: { series: source, suffix: "_count" },
  });
}

/**
 * The samples of a classic histogram with the bucket of a threshold, and all of them.
 *
 * @throws TypeError for other metrics
 */
export function coverageOf(
  { id, source }: MetricConfig,
  threshold: number,
  scope: StoreScope,
): Pick<Covered, "part" | "whole"> {
  if (source.kind !== "histogram") throw new TypeError(`${id} is no histogram`);
  return {
    part: samplesOf(scope, { series: bucketOf(source, threshold), suffix: "_bucket" }),
    whole: samplesOf(scope, { series: source, suffix: "_count" }),
  };
}

/** The series of the bucket of a threshold, in any spelling. */
function bucketOf(source: HistogramSource, threshold: number): SeriesConfig {
  const le = { label: "le", op: "Matches" as const, value: boundPattern(threshold) };
  return { ...source, matchers: [...source.matchers, le] };
}

/**
 * Builds a regular expression of the texts that usual client libraries write for a bucket's bound in `le`: `300`,
 * `300.0`, `1.44e+07` (Go, and Prometheus 3 when it scrapes), `1.44E7` (Java).
 */
function boundPattern(bound: number): string {
  const plain = String(bound);
  const [mantissa = "", exponent = "0"] = bound.toExponential().split("e");
  const power = Number(exponent);
  const spellings = new Set([
    plain,
    ...(Number.isInteger(bound) ? [`${plain}.0`] : []),
    `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`,
    `${mantissa.includes(".") ? mantissa : `${mantissa}.0`}E${power}`,
  ]);
  return [...spellings].map((text) => text.replaceAll(/[.+]/gu, String.raw`\$&`)).join("|");
}
