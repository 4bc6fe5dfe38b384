import type { Aggregation } from "../../../crds/config.ts";
import type { MetricSelector, SelectorSlices } from "../../metrics/request/selector.ts";
import { type Binary, type Expression, ExpressionError, type Subquery } from "../language/expression.ts";
import { writeDuration } from "../language/literals.ts";
import type { LookUp } from "./program.ts";
import { numberOf } from "./rewrite.ts";

const operators = { "<=": "AtMost", "<": "Below", ">=": "AtLeast", ">": "Above" } as const;
const results: ReadonlyMap<string, SelectorSlices["result"]> = new Map([
  ["avg_over_time", "share"],
  ["count_over_time", "count"],
]);

/** A call over a subquery that compares. */
interface SlicesShape {
  readonly subquery: Subquery;
  readonly compared: Binary;
  readonly operator: SelectorSlices["condition"]["operator"];
  readonly threshold: number;
  readonly result: SelectorSlices["result"];
}

const subqueryForm =
  "a subquery compares a gauge with a number: avg_over_time((max(max_over_time(m[5m])) <= bool 10)[1h:5m]), " +
  "or count_over_time of the same";

/**
 * Recognizes a call over a subquery; undefined for a part without one.
 *
 * @throws ExpressionError for a subquery of another form
 */
export function slicesOf(part: Expression): SlicesShape | undefined {
  if (part.kind === "subquery") throw fault(part, subqueryForm);
  const subquery = part.kind === "call" ? part.args.find((one) => one.kind === "subquery") : undefined;
  if (part.kind !== "call" || subquery === undefined) return undefined;
  const compared = subquery.of.kind === "group" ? subquery.of.of : subquery.of;
  const result = results.get(part.fn);
  const condition = compared.kind === "binary" ? conditionOf(compared) : undefined;
  if (compared.kind !== "binary" || result === undefined || condition === undefined)
    throw fault(subquery, subqueryForm);
  return { subquery, compared, ...condition, result };
}

function conditionOf({ op, isBool, right }: Binary): Pick<SlicesShape, "operator" | "threshold"> | undefined {
  const threshold = numberOf(right);
  if (!isBool || !(op in operators) || threshold === undefined || !Number.isFinite(threshold)) return undefined;
  return { operator: operators[op as keyof typeof operators], threshold };
}

/** The share or the number of slices of a gauge that meet a condition. @throws ExpressionError */
export function judgedSlices(
  { subquery, operator, threshold, result }: SlicesShape,
  selector: MetricSelector,
  lookUp: LookUp,
): MetricSelector {
  const { rangeMs, stepMs } = subquery;
  const sliceSeconds = stepMs / 1_000;
  if (lookUp(selector.metric)?.metric.source.kind !== "gauge") throw fault(subquery, subqueryForm);
  if (selector.offsetSeconds !== undefined) throw fault(subquery, "offset is not supported inside of a subquery");
  if (selector.widthSeconds !== sliceSeconds)
    throw fault(subquery, "the range of the metric and the step of the subquery differ");
  if (!Number.isInteger(rangeMs / stepMs))
    throw fault(subquery, "the range of a subquery must be a multiple of its step");
  const condition = { operator, threshold, sliceSeconds };
  return { ...selector, slices: { condition, windowSeconds: rangeMs / 1_000, result } };
}

const comparisons = { AtMost: "<=", Below: "<", AtLeast: ">=", Above: ">" } as const;
const forms: Readonly<Record<string, readonly [op: string, fn: string]>> = {
  avg: ["avg", "avg_over_time"],
  sum: ["sum", "avg_over_time"],
  min: ["min", "min_over_time"],
  max: ["max", "max_over_time"],
};

/**
 * The text of the subquery that judges the slices of a gauge. Its steps are multiples of the step since 1970, as slices
 * are.
 *
 * @param gauge selector over one slice
 */
export function slicesText(
  aggregation: Aggregation,
  gauge: string,
  { condition, windowSeconds }: Pick<SelectorSlices, "condition" | "windowSeconds">,
): string {
  const [op, fn] = forms[aggregation] ?? [];
  if (op === undefined) throw new TypeError(`a gauge has no ${aggregation}`);
  const { operator, threshold, sliceSeconds } = condition;
  const compared = `${op}(${fn}(${gauge})) ${comparisons[operator]} bool ${threshold}`;
  return `(${compared})[${writeDuration(windowSeconds * 1_000)}:${writeDuration(sliceSeconds * 1_000)}]`;
}

function fault({ span }: Subquery, message: string): ExpressionError {
  return new ExpressionError(message, span.start + 1);
}
