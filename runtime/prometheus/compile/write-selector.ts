import { resultOrError } from "../../errors/result-or-error.ts";
import type { MetricSelector } from "../../metrics/request/selector.ts";
import { type Expression, ExpressionError, type LabelMatcher } from "../language/expression.ts";
import { formatExpression } from "../language/format-expression.ts";
import { compileText, selectorKey } from "./compile.ts";
import { formMeasure, formsOf, type NamedMetric } from "./forms.ts";
import type { LookUp } from "./program.ts";
import { numbersOf } from "./rewrite.ts";

const span = { start: 0, end: 0 };

/**
 * Writes a selector as the text of an expression, in the form to recommend. The text compiles to the same selector.
 *
 * @returns undefined for a metric that the caller's catalog lacks, and for a measure without a form
 */
export function writeSelector(selector: MetricSelector, lookUp: LookUp): string | undefined {
  const known = lookUp(selector.metric);
  const expression = known && expressionOf(selector, { ...known, name: selector.metric });
  const text = expression && formatExpression(expression);
  return text !== undefined && compilesTo(text, selector, lookUp) ? text : undefined;
}

function expressionOf({ metric, measure, filters, groupBy, widthSeconds }: MetricSelector, named: NamedMetric) {
  const form = formsOf(named).find((one) => one.measure === formMeasure(measure));
  if (form?.fn === undefined || widthSeconds === undefined) return undefined;
  const matchers = [...filters].map(([label, values]): LabelMatcher => ({
    label,
    op: values.length === 0 ? "!=" : values.length === 1 ? "=" : "=~",
    values,
    span,
  }));
  const selector: Expression = { kind: "selector", metric, matchers, rangeMs: widthSeconds * 1_000, span };
  const by = groupBy.length === 0 ? undefined : groupBy;
  const of: Expression = { kind: "call", fn: form.fn, args: [selector], span };
  const aggregate: Expression = { kind: "aggregate", op: form.op, by, of, span };
  if (form.outer === undefined) return aggregate;
  const args = numbersOf(measure).map((value): Expression => ({ kind: "number", value, span }));
  return { kind: "call", fn: form.outer, args: [...args, aggregate], span } satisfies Expression;
}

function compilesTo(text: string, selector: MetricSelector, lookUp: LookUp): boolean {
  const compiled = resultOrError(() => compileText(text, lookUp, () => []), ExpressionError);
  if (compiled instanceof ExpressionError) return false;
  return (
    compiled.program.kind === "leaf" && compiled.selectors.every((one) => selectorKey(one) === selectorKey(selector))
  );
}
