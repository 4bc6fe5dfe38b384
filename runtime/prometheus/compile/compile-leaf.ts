import type { Leaf, Measure } from "../../metrics/leaves/leaf.ts";
import { ExpressionError, type Expression } from "../language/expression.ts";
import {
  formOf,
  formsOf,
  hasMeasure,
  percentiles,
  quantiles,
  readsBuckets,
  type Form,
  type NamedMetric,
  type Percentile,
} from "./forms.ts";
import { filtersOf, groupByOf, isGroupLabel, unknownLabel } from "./labels.ts";
import type { LookUp } from "./look-up.ts";
import { nameMetric } from "./named-metric.ts";
import { numberOf, rewriteOf } from "./rewrite.ts";
import { shapeOf, type Shape } from "./shape.ts";

/** A part of an expression that is no governed query. */
export class LeafError extends ExpressionError {
  /** The part to write instead. @default none is known */
  readonly instead: Expression | undefined;

  constructor(message: string, column: number, instead: Expression | undefined) {
    super(message, column);
    this.instead = instead;
  }
}

/** Compiles a part that must be one governed query. @throws ExpressionError when it is none */
export function compileLeaf(part: Expression, lookUp: LookUp, names: () => Iterable<string>): Leaf {
  const shape = shapeOf(part);
  if (shape === undefined) {
    throw new ExpressionError(
      "functions and aggregations take one metric; write operators outside of them",
      part.span.start + 1,
    );
  }
  const named = nameMetric(shape.selector, lookUp, names);
  const { metric } = named;
  const filters = filtersOf(metric, shape.selector.matchers);
  const form = formOf(named, shape);
  if (form === undefined) throw refuse(named, shape, unknownForm(named, shape));
  requireGrouping(named, shape, form);
  const measure = measureOf(named, shape, form);
  if (!hasMeasure(named, measure)) throw refuse(named, shape, unknownMeasure(named, measure));
  return {
    metric: metric.id,
    measure,
    filters,
    groupBy: groupByOf(metric, shape.by),
    widthSeconds: widthOf(named, shape),
  };
}

function refuse(named: NamedMetric, shape: Shape, message: string): LeafError {
  return new LeafError(message, shape.span.start + 1, rewriteOf(named, shape));
}

function requireGrouping(named: NamedMetric, shape: Shape, form: Form): void {
  const { by } = shape;
  const unknown = by.find((label) => label !== "le" && !isGroupLabel(named.metric, label));
  if (unknown !== undefined) throw refuse(named, shape, unknownLabel(named.metric, unknown));
  if (by.includes("le") && !readsBuckets(form)) {
    throw refuse(named, shape, "le groups buckets, inside histogram_quantile and histogram_fraction only");
  }
  if (named.part === "bucket" && !by.includes("le")) {
    throw refuse(named, shape, `the buckets of ${named.metric.id} must be grouped by le`);
  }
}

/** The measure of a form with the numbers of a shape. */
function measureOf(named: NamedMetric, shape: Shape, { measure }: Form): Measure {
  const [first, second] = (shape.outer?.numbers ?? []).map(numberOf);
  if (measure === "quantile") return { kind: "aggregation", aggregation: percentileOf(named, shape, first) };
  if (measure === "count") return { kind: "count" };
  if (measure !== "fraction") return { kind: "aggregation", aggregation: measure };
  if (first === 0 && second !== undefined) return { kind: "fraction", threshold: second };
  throw refuse(named, shape, `histogram_fraction of ${named.metric.id} reaches from 0 to the threshold of an SLO`);
}

function percentileOf(named: NamedMetric, shape: Shape, quantile: number | undefined): Percentile {
  const percentile = percentiles.find((name) => quantiles[name] === quantile);
  if (percentile !== undefined) return percentile;
  throw refuse(named, shape, `the quantile must be one of ${Object.values(quantiles).join(", ")}`);
}

function widthOf(named: NamedMetric, shape: Shape): number | undefined {
  const { rangeMs } = shape.selector;
  if (rangeMs === undefined) return undefined;
  if (Number.isInteger(rangeMs / 1_000)) return rangeMs / 1_000;
  throw refuse(named, shape, "a window has whole seconds");
}

function unknownMeasure({ metric, thresholds }: NamedMetric, measure: Measure): string {
  if (measure.kind === "aggregation") {
    return `${metric.id} has no aggregation ${measure.aggregation}; it has ${metric.aggregations.join(", ")}`;
  }
  if (thresholds.length === 0) return `${metric.id} has no SLO with a threshold, which histogram_fraction needs`;
  return `the thresholds of ${metric.id} are ${thresholds.toSorted((a, b) => a - b).join(", ")}`;
}

/** The sentence on a shape that a metric does not have. */
function unknownForm(named: NamedMetric, shape: Shape): string {
  const { name, part, metric } = named;
  if (part !== undefined && part !== "total") return `${name} is read as a part of the histogram ${metric.id}`;
  const { outer, op, fn } = shape;
  const kind = part === "total" ? "the number of events of a ratio" : `a ${metric.source.kind}`;
  if (metric.source.kind === "histogram") {
    if (outer === undefined) return `${name} is a histogram; read it by a function such as histogram_quantile`;
  } else if (outer !== undefined) return `${name} is ${kind}, and ${outer.fn} takes a histogram`;
  if (fn !== undefined && !formsOf(named).some((form) => form.fn === fn)) {
    return `${name} is ${kind}, to which ${fn} does not apply`;
  }
  return op === undefined ? `${name} must be aggregated` : `${name} is ${kind}, and no query of it has this form`;
}
