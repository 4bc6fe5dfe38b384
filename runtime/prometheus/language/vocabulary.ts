import { editDistance } from "../../errors/near-names.ts";
import type { BinaryOp, ExpressionType } from "./expression.ts";

/** The functions of the subset with the types of their arguments. Each gives a vector, `time` a scalar. */
export const functions: ReadonlyMap<string, readonly ExpressionType[]> = new Map<string, readonly ExpressionType[]>([
  ["avg_over_time", ["range"]],
  ["min_over_time", ["range"]],
  ["max_over_time", ["range"]],
  ["count_over_time", ["range"]],
  ["rate", ["range"]],
  ["increase", ["range"]],
  ["histogram_quantile", ["scalar", "vector"]],
  ["histogram_avg", ["vector"]],
  ["histogram_sum", ["vector"]],
  ["histogram_count", ["vector"]],
  ["histogram_fraction", ["scalar", "scalar", "vector"]],
  ["time", []],
  ["topk", ["scalar", "vector"]],
  ["bottomk", ["scalar", "vector"]],
]);

/** Whether a function keeps the series with the greatest or the lowest values at each time. */
export function isRanking(fn: string): fn is "topk" | "bottomk" {
  return fn === "topk" || fn === "bottomk";
}

/** The aggregations of the subset. */
export const aggregates: ReadonlySet<string> = new Set(["sum", "avg", "min", "max"]);

/** Aggregations of Prometheus that the subset does not have. */
const otherAggregates = "count group stddev stdvar topk bottomk count_values quantile limitk limit_ratio".split(" ");

/** Whether a name is an aggregation of Prometheus, in capitals or not. */
export function isAggregate(name: string): boolean {
  const lower = name.toLowerCase();
  return aggregates.has(lower) || otherAggregates.includes(lower);
}

/** How tightly the operators bind. Operators of one number bind from the left. */
export const precedences: ReadonlyMap<string, number> = new Map<BinaryOp, number>([
  ["or", 1],
  ["and", 2],
  ["unless", 2],
  ["==", 3],
  ["!=", 3],
  ["<", 3],
  ["<=", 3],
  [">", 3],
  [">=", 3],
  ["+", 4],
  ["-", 4],
  ["*", 5],
  ["/", 5],
]);

const comparisons: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);

/** Whether an operator compares. */
export function isComparison(op: string): boolean {
  return comparisons.has(op);
}

/** Whether an operator works on whole series. */
export function isSetOperator(op: string): boolean {
  return op === "and" || op === "or" || op === "unless";
}

/** Words that Prometheus reads as more than a name, in capitals or not. They are no names of metrics without quotes. */
const reserved: ReadonlySet<string> = new Set([
  ...aggregates,
  ...otherAggregates,
  ..."and or unless atan2 offset by without on ignoring group_left group_right bool inf nan".split(" "),
  ..."fill fill_left fill_right smoothed anchored start end step range max_of min_of".split(" "),
]);

/** Whether a name has a meaning of its own. */
export function isReserved(name: string): boolean {
  return reserved.has(name.toLowerCase());
}

/** Words that Prometheus does not take for a label in `by (…)` without quotes. */
const noGroupingLabels = new Set(["without", "inf", "nan"]);

/** Whether a label of `by (…)` is written without quotes. */
export function isPlainGroupingLabel(name: string): boolean {
  return isPlainLabel(name) && !noGroupingLabels.has(name.toLowerCase());
}

/** Whether a label is written without quotes. */
export function isPlainLabel(name: string): boolean {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/u.test(name);
}

/** What the subset offers for a function or an aggregation that it does not have. */
interface Advice {
  /** A clause for the message. */
  readonly why: string;
  /** A name to write instead, or `argument` if the last argument alone has the meaning. @default none */
  readonly instead?: string;
}

const allSeries: Advice = { why: "a response always contains all series of the expression", instead: "argument" };
const order: Advice = { why: "series in a response are always sorted by labels", instead: "argument" };
const gauges: Advice = {
  why: "only the average, minimum and maximum of a gauge over a range are supported",
  instead: "avg_over_time",
};
const quantiles: Advice = { why: "quantiles are computed from histograms with histogram_quantile" };
const absence: Advice = { why: "an unknown metric is an error, and a metric without points has no series" };

const advices: ReadonlyMap<string, Advice> = new Map<string, Advice>([
  ["limitk", allSeries],
  ["limit_ratio", allSeries],
  ["sort", order],
  ["sort_desc", order],
  ["sort_by_label", order],
  ["sort_by_label_desc", order],
  ["vector", { why: "use the number directly", instead: "argument" }],
  ["irate", { why: "use rate", instead: "rate" }],
  ["delta", { why: "use increase of a counter", instead: "increase" }],
  ["idelta", { why: "use increase of a counter", instead: "increase" }],
  ["last_over_time", gauges],
  ["sum_over_time", gauges],
  ["quantile_over_time", quantiles],
  ["quantile", quantiles],
  ["count", { why: "the number of series is not meaningful; histogram_count returns the number of events" }],
  ["absent", absence],
  ["absent_over_time", absence],
]);

/** The advice for a name of Prometheus. */
export function adviceFor(name: string): Advice | undefined {
  return advices.get(name);
}

const distanceMax = 2;
const nameCharactersMax = 40;

/** The function or aggregation of the subset whose name differs the least from another name, in at most two places. */
export function nearestName(written: string): string | undefined {
  if (written.length > nameCharactersMax) return undefined;
  const lower = written.toLowerCase();
  const near = [...functions.keys(), ...aggregates]
    .map((known) => ({ known, distance: editDistance(lower, known) }))
    .filter(({ known, distance }) => distance <= Math.min(distanceMax, known.length - 3));
  return near.sort((a, b) => a.distance - b.distance)[0]?.known;
}
