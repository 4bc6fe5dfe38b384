import type { SourceConfig } from "../../../crds/config.ts";
import { nearNames } from "../../errors/near-names.ts";
import type { Measure, MetricSelector } from "../../metrics/request/selector.ts";
import { type Expression, ExpressionError, type Selector } from "../language/expression.ts";
import {
  filtersOf,
  type Form,
  formOf,
  formsOf,
  groupByOf,
  hasMeasure,
  isGroupLabel,
  type NamedMetric,
  type Percentile,
  percentiles,
  quantiles,
  readsBuckets,
  type SelectorShape,
  shapeOf,
  unknownLabel,
} from "./forms.ts";
import type { LookUp } from "./program.ts";
import { judgedSlices, slicesOf } from "./judged-slices.ts";
import { numberOf, rewriteOf } from "./rewrite.ts";

/** A part of an expression that is no governed query. */
export class SelectorError extends ExpressionError {
  /** The part to write instead. @default none is known */
  readonly instead: Expression | undefined;

  constructor(message: string, column: number, instead: Expression | undefined) {
    super(message, column);
    this.instead = instead;
  }
}

/** Compiles a part that must be one governed query. @throws ExpressionError when it is none */
export function compileSelector(part: Expression, lookUp: LookUp, names: () => Iterable<string>): MetricSelector {
  const slices = slicesOf(part);
  if (slices === undefined) return compilePlain(part, lookUp, names);
  return judgedSlices(slices, compilePlain(slices.compared.left, lookUp, names), lookUp);
}

function compilePlain(part: Expression, lookUp: LookUp, names: () => Iterable<string>): MetricSelector {
  const shape = shapeOf(part);
  if (shape === undefined) {
    throw new ExpressionError(
      "functions and aggregations take a single metric; move operators outside of them",
      part.span.start + 1,
    );
  }
  const named = nameMetric(shape.selector, lookUp, names);
  const { metric } = named;
  const filters = filtersOf(metric, shape.selector.matchers);
  const form = formOf(named, shape);
  if (form === undefined) throw selectorError(named, shape, unknownForm(named, shape));
  requireGrouping(named, shape, form);
  const measure = measureOf(named, shape, form);
  const { offsetMs = 0 } = shape.selector;
  if (!hasMeasure(named, measure)) throw selectorError(named, shape, unknownMeasure(named, measure));
  return {
    metric: metric.id,
    measure,
    filters,
    groupBy: groupByOf(metric, shape.by),
    widthSeconds: widthOf(named, shape),
    ...(offsetMs === 0 ? {} : { offsetSeconds: offsetMs / 1_000 }),
  };
}

function selectorError(named: NamedMetric, shape: SelectorShape, message: string): SelectorError {
  return new SelectorError(message, shape.span.start + 1, rewriteOf(named, shape));
}

function requireGrouping(named: NamedMetric, shape: SelectorShape, form: Form): void {
  const { by } = shape;
  const unknown = by.find((label) => label !== "le" && !isGroupLabel(named.metric, label));
  if (unknown !== undefined) throw selectorError(named, shape, unknownLabel(named.metric, unknown));
  if (by.includes("le") && !readsBuckets(form))
    throw selectorError(named, shape, "le is allowed only inside histogram_quantile and histogram_fraction");
  if (named.part === "bucket" && !by.includes("le"))
    throw selectorError(named, shape, `the buckets of ${named.metric.id} must be grouped by le`);
}

/** The measure of a form with the numbers of a shape. */
function measureOf(named: NamedMetric, shape: SelectorShape, { measure }: Form): Measure {
  const [first, second] = (shape.outer?.numbers ?? []).map(numberOf);
  if (measure === "quantile") return { kind: "aggregation", aggregation: percentileOf(named, shape, first) };
  if (measure === "count") return { kind: "count" };
  if (measure !== "fraction") return { kind: "aggregation", aggregation: measure };
  if (first === 0 && second !== undefined) return { kind: "fraction", threshold: second };
  throw selectorError(
    named,
    shape,
    `histogram_fraction of ${named.metric.id} reaches from 0 to the threshold of an SLO`,
  );
}

function percentileOf(named: NamedMetric, shape: SelectorShape, quantile: number | undefined): Percentile {
  const percentile = percentiles.find((name) => quantiles[name] === quantile);
  if (percentile !== undefined) return percentile;
  throw selectorError(named, shape, `the quantile must be one of ${Object.values(quantiles).join(", ")}`);
}

function widthOf(named: NamedMetric, shape: SelectorShape): number | undefined {
  const { rangeMs } = shape.selector;
  if (rangeMs === undefined) return undefined;
  if (Number.isInteger(rangeMs / 1_000)) return rangeMs / 1_000;
  throw selectorError(named, shape, "a window must be a whole number of seconds");
}

function unknownMeasure({ metric, thresholds }: NamedMetric, measure: Measure): string {
  if (measure.kind === "aggregation")
    return `${metric.id} has no aggregation ${measure.aggregation}; it has ${metric.aggregations.join(", ")}`;
  if (thresholds.length === 0) return `${metric.id} has no SLO with a threshold, which histogram_fraction requires`;
  return `the thresholds of ${metric.id} are ${thresholds.toSorted((a, b) => a - b).join(", ")}`;
}

/** The sentence on a shape that a metric does not have. */
function unknownForm(named: NamedMetric, shape: SelectorShape): string {
  const { name, part, metric } = named;
  if (part !== undefined && part !== "total") return `${name} is read as part of the histogram ${metric.id}`;
  const { outer, op, fn } = shape;
  const kind = part === "total" ? "the number of events of a ratio" : `a ${metric.source.kind}`;
  if (metric.source.kind === "histogram") {
    if (outer === undefined) return `${name} is a histogram; read it with a function such as histogram_quantile`;
  } else if (outer !== undefined) return `${name} is ${kind}, but ${outer.fn} requires a histogram`;
  if (fn !== undefined && !formsOf(named).some((form) => form.fn === fn))
    return `${name} is ${kind}, to which ${fn} does not apply`;
  return op === undefined
    ? `${name} must be aggregated`
    : `${name} is ${kind}, which does not support this form of query`;
}

interface NamePart {
  readonly suffix: string;
  readonly part: NonNullable<NamedMetric["part"]>;
  readonly isOf: (source: SourceConfig) => boolean;
}

const isHistogram = ({ kind }: SourceConfig): boolean => kind === "histogram";

/** The suffixes that stand for a part of a metric. */
const nameParts: readonly NamePart[] = [
  { suffix: "_bucket", part: "bucket", isOf: (source) => source.kind === "histogram" && source.type === "Classic" },
  { suffix: "_bucket", part: "nativeBucket", isOf: isHistogram },
  { suffix: "_sum", part: "sum", isOf: isHistogram },
  { suffix: "_count", part: "count", isOf: isHistogram },
  { suffix: ":total", part: "total", isOf: ({ kind }) => kind === "ratio" },
];

/** Finds the metric of a selector. @throws ExpressionError with near names for an unknown metric */
function nameMetric({ metric: name, span }: Selector, lookUp: LookUp, names: () => Iterable<string>): NamedMetric {
  const whole = lookUp(name);
  if (whole !== undefined) return { ...whole, name };
  for (const { suffix, part, isOf } of nameParts) {
    const known = name.endsWith(suffix) ? lookUp(name.slice(0, -suffix.length)) : undefined;
    if (known !== undefined && isOf(known.metric.source)) return { ...known, name, part };
  }
  const near = nearNames(name, names());
  const hint = near.length === 0 ? "see /v1/metrics/catalog" : `did you mean ${near.join(", ")}`;
  throw new ExpressionError(`the metric ${name} is not in the catalog; ${hint}`, span.start + 1);
}
