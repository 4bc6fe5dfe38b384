import { type Aggregation, type LabelName, labelNames } from "../../../crds/config.ts";
import { isolationLabels } from "../../metrics/request/parameters.ts";
import type { Measure, MetricSelector } from "../../metrics/request/selector.ts";
import {
  type Aggregate,
  type FunctionCall,
  type Expression,
  ExpressionError,
  type LabelMatcher,
  type Selector,
  type Span,
} from "../language/expression.ts";
import type { KnownMetric } from "./program.ts";

/** The quantile of each percentile. Source: seed "Operational Metrics API" §4.1. */
export const quantiles = { p50: 0.5, p95: 0.95, p99: 0.99 } as const satisfies Readonly<
  Record<Extract<Aggregation, `p${number}`>, number>
>;
export type Percentile = keyof typeof quantiles;
export const percentiles = Object.keys(quantiles) as readonly Percentile[];

/** How one measure of a metric is written. A form with `fn` takes a window, one without takes none. */
export interface Form {
  readonly outer?: "histogram_quantile" | "histogram_avg" | "histogram_sum" | "histogram_count" | "histogram_fraction";
  readonly op: "avg" | "sum" | "min" | "max";
  readonly fn?: "avg_over_time" | "min_over_time" | "max_over_time" | "rate" | "increase";
  readonly measure: Exclude<Aggregation, Percentile> | "quantile" | "count" | "fraction";
}

/** A metric as an expression names it. */
export interface NamedMetric extends KnownMetric {
  /** The name in the expression. */
  readonly name: string;
  /**
   * The part of the metric that a suffix of the name stands for: the buckets, the sum or the count of a histogram; the
   * denominator of a ratio. Only the buckets of a classic histogram and the denominator are queried by such a name.
   *
   * @default the metric itself
   */
  readonly part?: "bucket" | "nativeBucket" | "sum" | "count" | "total";
}

type FormKind = KnownMetric["metric"]["source"]["kind"] | "total";

/** Of the forms of a measure, the first is the one to recommend. */
const forms: Readonly<Record<FormKind, readonly Form[]>> = {
  gauge: [
    { op: "avg", fn: "avg_over_time", measure: "avg" },
    { op: "sum", fn: "avg_over_time", measure: "sum" },
    { op: "min", fn: "min_over_time", measure: "min" },
    { op: "max", fn: "max_over_time", measure: "max" },
    { op: "avg", measure: "avg" },
  ],
  ratio: [{ op: "avg", fn: "avg_over_time", measure: "avg" }],
  total: [{ op: "sum", fn: "increase", measure: "count" }],
  counter: [
    { op: "sum", fn: "rate", measure: "avg" },
    { op: "sum", fn: "increase", measure: "sum" },
    { op: "min", fn: "increase", measure: "min" },
    { op: "max", fn: "increase", measure: "max" },
  ],
  histogram: [
    { outer: "histogram_quantile", op: "sum", fn: "rate", measure: "quantile" },
    { outer: "histogram_quantile", op: "sum", fn: "increase", measure: "quantile" },
    { outer: "histogram_avg", op: "sum", fn: "rate", measure: "avg" },
    { outer: "histogram_sum", op: "sum", fn: "increase", measure: "sum" },
    { outer: "histogram_count", op: "sum", fn: "increase", measure: "count" },
    { outer: "histogram_fraction", op: "sum", fn: "rate", measure: "fraction" },
  ],
};

/** The forms of a metric. */
export function formsOf({ metric, part }: NamedMetric): readonly Form[] {
  const all = forms[part === "total" ? "total" : metric.source.kind];
  return part === "bucket" ? all.filter(readsBuckets) : all;
}

/** The form that a shape has; undefined when the metric has no such form. */
export function formOf(named: NamedMetric, shape: SelectorShape): Form | undefined {
  if (named.part === "sum" || named.part === "count" || named.part === "nativeBucket") return undefined;
  const hasWindow = shape.selector.rangeMs !== undefined;
  return formsOf(named).find(
    ({ outer, op, fn }) =>
      outer === shape.outer?.fn && op === shape.op && fn === shape.fn && hasWindow === (fn !== undefined),
  );
}

/** True for a form that may group by `le`. */
export function readsBuckets({ measure }: Form): boolean {
  return measure === "quantile" || measure === "fraction";
}

/** True when a metric has a measure. */
export function hasMeasure(named: NamedMetric, measure: Measure): boolean {
  const { metric, thresholds } = named;
  if (!formsOf(named).some((form) => form.measure === formMeasure(measure))) return false;
  if (measure.kind === "aggregation") return metric.aggregations.includes(measure.aggregation);
  return measure.kind === "count" || thresholds.includes(measure.threshold);
}

/** The measure as forms name it. */
export function formMeasure(measure: Measure): Form["measure"] {
  if (measure.kind !== "aggregation") return measure.kind;
  const { aggregation } = measure;
  return isPercentile(aggregation) ? "quantile" : aggregation;
}

/** True for a percentile. */
export function isPercentile(aggregation: Aggregation): aggregation is Percentile {
  return aggregation in quantiles;
}

/** The written form of one query: `outer(numbers, op by (…) (fn(selector)))`, of which every layer may be absent. */
export interface SelectorShape {
  readonly outer?: { readonly fn: string; readonly numbers: readonly Expression[] };
  readonly op?: string;
  readonly by: readonly string[];
  readonly fn?: string;
  readonly selector: Selector;
  readonly span: Span;
}

/** Recognizes the form of one query; undefined when anything but one selector stands at its inside. */
export function shapeOf(part: Expression): SelectorShape | undefined {
  const outer = outerOf(part);
  const inside = outer === undefined ? part : ungrouped(outer.args.at(-1) ?? part);
  const aggregate = inside.kind === "aggregate" ? inside : undefined;
  const within = aggregate === undefined ? inside : ungrouped(aggregate.of);
  const call = within.kind === "call" && within.args.length === 1 ? within : undefined;
  const selector = call === undefined ? within : ungrouped(call.args[0] ?? within);
  if (selector.kind !== "selector") return undefined;
  return { ...layersOf(outer, aggregate, call), selector, span: part.span };
}

function layersOf(
  outer: FunctionCall | undefined,
  aggregate: Aggregate | undefined,
  call: FunctionCall | undefined,
): Pick<SelectorShape, "outer" | "op" | "by" | "fn"> {
  const numbers = outer?.args.slice(0, -1).map(ungrouped) ?? [];
  return {
    by: aggregate?.by ?? [],
    ...(outer === undefined ? {} : { outer: { fn: outer.fn, numbers } }),
    ...(aggregate === undefined ? {} : { op: aggregate.op }),
    ...(call === undefined ? {} : { fn: call.fn }),
  };
}

function outerOf(part: Expression): FunctionCall | undefined {
  return part.kind === "call" && part.fn.startsWith("histogram_") && part.args.length > 0 ? part : undefined;
}

/** Removes parentheses. */
function ungrouped(expression: Expression): Expression {
  return expression.kind === "group" ? ungrouped(expression.of) : expression;
}

type Metric = KnownMetric["metric"];

/** True when series of a metric can be grouped by a label. */
export function isGroupLabel({ labels }: Metric, label: string): label is LabelName {
  return (labels as readonly string[]).includes(label);
}

/** True when series of a metric can be filtered by a label. */
export function isFilterLabel(metric: Metric, label: string): label is LabelName {
  return isGroupLabel(metric, label) || (isolationLabels as readonly string[]).includes(label);
}

/** The labels to group by, in the form of a selector. */
export function groupByOf(metric: Metric, by: readonly string[]): MetricSelector["groupBy"] {
  return [...new Set(by.filter((label) => isGroupLabel(metric, label)))].sort();
}

/**
 * The filters of a selector. The parser has rejected several matchers of one label.
 *
 * @throws ExpressionError for a label that the metric does not have, and for several tenants
 */
export function filtersOf(metric: Metric, matchers: readonly LabelMatcher[]): MetricSelector["filters"] {
  const filters = new Map<LabelName, readonly string[]>();
  for (const matcher of matchers) {
    const { label } = matcher;
    if (!isFilterLabel(metric, label)) throw matcherError(matcher, unknownLabel(metric, label, isolationLabels));
    const values = valuesOf(matcher);
    if (label === "tenant" && values !== undefined && values.length > 1)
      throw matcherError(matcher, "select one tenant only");
    if (values !== undefined) filters.set(label, values);
  }
  return new Map([...filters].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The values of a matcher as those of a filter; undefined for a matcher of all series. Each series has a region and is
 * read for one tenant.
 *
 * @throws ExpressionError for series without one of these
 */
export function valuesOf(matcher: LabelMatcher): readonly string[] | undefined {
  const { label, values } = matcher;
  if (label !== "region" && label !== "tenant") return [...new Set(values)].sort();
  if (values.includes("")) throw matcherError(matcher, `no series is without the label ${label}; write a value of it`);
  return values.length === 0 ? undefined : [...new Set(values)].sort();
}

/** The sentence on a label that a metric does not have. */
export function unknownLabel({ id, labels }: Metric, label: string, more: readonly LabelName[] = []): string {
  const known = labelNames.filter((name) => labels.includes(name) || more.includes(name));
  return `${id} has no label ${label}; ${known.length === 0 ? "it has no labels" : `it has ${known.join(", ")}`}`;
}

function matcherError({ span }: LabelMatcher, message: string): ExpressionError {
  return new ExpressionError(message, span.start + 1);
}
