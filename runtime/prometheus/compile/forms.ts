import type { Aggregation } from "../../../crds/config.ts";
import type { Measure } from "../../metrics/leaves/leaf.ts";
import type { KnownMetric } from "./look-up.ts";
import type { Shape } from "./shape.ts";

/** The quantile of each percentile. Source: seed "Operational Metrics API" §4.1. */
export const quantiles = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
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
export function formOf(named: NamedMetric, shape: Shape): Form | undefined {
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
