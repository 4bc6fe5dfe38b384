import type { Aggregation } from "../../../crds/config.ts";
import { isolationLabels } from "../../metrics/request/parameters.ts";
import type { Measure } from "../../metrics/request/selector.ts";
import type { Expression } from "../language/expression.ts";
import {
  type Form,
  formMeasure,
  formsOf,
  hasMeasure,
  isFilterLabel,
  isGroupLabel,
  isPercentile,
  type NamedMetric,
  type Percentile,
  percentiles,
  quantiles,
  type SelectorShape,
} from "./forms.ts";

/** Width of the window of a rewrite whose original has none. */
const widthSecondsDefault = 300;
const span = { start: 0, end: 0 };

/**
 * A query that a metric has, near a shape that it does not have. Undefined for a metric whose default
 * aggregation has no form.
 */
export function rewriteOf({ part, ...whole }: NamedMetric, shape: SelectorShape): Expression | undefined {
  const named = { ...whole, ...(part === undefined ? {} : { part }) };
  const usual: Measure = { kind: "aggregation", aggregation: named.metric.defaultAggregation };
  const measure = [...wantedMeasures(named, shape), usual].find((one) => hasMeasure(named, one));
  // Buckets have percentiles only, which the metric may lack.
  if (measure === undefined) return part === "bucket" ? rewriteOf(whole, shape) : undefined;
  const fitting = formsOf(named).filter((form) => form.measure === formMeasure(measure));
  const isShort = shape.fn === undefined && shape.outer === undefined && shape.selector.rangeMs === undefined;
  const form = fitting.find(({ fn }) => isShort && fn === undefined) ?? fitting[0];
  return form && write(named, shape, { form, numbers: numbersOf(measure) });
}

const count: Measure = { kind: "count" };

/** The measures that a shape probably means, the most probable first. */
function wantedMeasures(named: NamedMetric, shape: SelectorShape): readonly Measure[] {
  const { op, fn } = shape;
  const written = (["avg", "sum", "min", "max"] as const).filter((name) => name === op);
  const { kind } = named.metric.source;
  switch (kind) {
    case "gauge":
      return aggregations([...written, "avg"]);
    case "ratio":
      return named.part === "total" ? [count] : aggregations(["avg"]);
    case "counter":
      return aggregations(op === "sum" && fn !== "increase" ? ["avg"] : [...written, "avg", "sum"]);
    case "histogram":
      return wantedOfHistogram(named, shape);
    default:
      return kind satisfies never;
  }
}

function wantedOfHistogram({ thresholds, part }: NamedMetric, { outer, op }: SelectorShape): readonly Measure[] {
  const written = numberOf(outer?.numbers.at(-1));
  const plain = op === "avg" && part === undefined ? "histogram_avg" : "histogram_quantile";
  const fn = partReaders.get(part) ?? outer?.fn ?? plain;
  if (fn === "histogram_fraction") return fractions(thresholds, written);
  return plainMeasures.get(fn) ?? aggregations([...nearestPercentiles(written), "avg"]);
}

const partReaders: ReadonlyMap<NamedMetric["part"], string> = new Map([
  ["sum", "histogram_sum"],
  ["count", "histogram_count"],
]);

/** The measures of functions without numbers. */
const plainMeasures: ReadonlyMap<string, readonly Measure[]> = new Map([
  ["histogram_avg", aggregations(["avg"])],
  ["histogram_sum", aggregations(["sum"])],
  ["histogram_count", [count]],
]);

function aggregations(names: readonly Aggregation[]): readonly Measure[] {
  return names.map((aggregation) => ({ kind: "aggregation", aggregation }));
}

function nearestPercentiles(quantile: number = quantiles.p95): readonly Percentile[] {
  return percentiles.toSorted((a, b) => Math.abs(quantiles[a] - quantile) - Math.abs(quantiles[b] - quantile));
}

function fractions(thresholds: readonly number[], wanted = 0): readonly Measure[] {
  const nearest = thresholds.toSorted((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted));
  return nearest.map((threshold) => ({ kind: "fraction", threshold }));
}

/** The value of a literal. */
export function numberOf(expression: Expression | undefined): number | undefined {
  return expression?.kind === "number" ? expression.value : undefined;
}

/** The numbers before the aggregation of a measure, in the order of the function. */
export function numbersOf(measure: Measure): readonly number[] {
  if (measure.kind === "fraction") return [0, measure.threshold];
  return measure.kind === "aggregation" && isPercentile(measure.aggregation) ? [quantiles[measure.aggregation]] : [];
}

interface Written {
  readonly form: Form;
  readonly numbers: readonly number[];
}

function write(named: NamedMetric, shape: SelectorShape, { form, numbers }: Written): Expression {
  const { metric, part } = named;
  const isBuckets = part === "bucket";
  const selector: Expression = {
    kind: "selector",
    metric: isBuckets || part === "total" ? named.name : metric.id,
    matchers: shape.selector.matchers.filter(({ label }) => isFilterLabel(metric, label)),
    ...(form.fn === undefined ? {} : { rangeMs: widthMsOf(named, shape) }),
    ...(shape.selector.offsetMs === undefined ? {} : { offsetMs: shape.selector.offsetMs }),
    span,
  };
  const by = [...labelsOf(named, shape), ...(isBuckets ? ["le"] : [])];
  const aggregate: Expression = {
    kind: "aggregate",
    op: form.op,
    by: by.length === 0 ? undefined : by,
    of: form.fn === undefined ? selector : { kind: "call", fn: form.fn, args: [selector], span },
    span,
  };
  if (form.outer === undefined) return aggregate;
  const args = numbers.map((value): Expression => ({ kind: "number", value, span }));
  return { kind: "call", fn: form.outer, args: [...args, aggregate], span };
}

function widthMsOf({ metric }: NamedMetric, { selector: { rangeMs } }: SelectorShape): number {
  if (rangeMs !== undefined) return Math.ceil(rangeMs / 1_000) * 1_000;
  return Math.max(widthSecondsDefault, metric.minStepSeconds) * 1_000;
}

/** The labels of the shape that the metric has; for a shape without an aggregation a label of the metric. */
function labelsOf({ metric }: NamedMetric, { op, by }: SelectorShape): readonly string[] {
  const own = op === undefined ? metric.labels.filter((label) => !isolationLabels.includes(label)).slice(0, 1) : by;
  return [...new Set(own)].filter((label) => isGroupLabel(metric, label)).slice(0, metric.maxGroupBy);
}
