import { writeAlternatives } from "./alternatives.ts";
import type { Expression, LabelMatcher, Selector } from "./expression.ts";
import { writeDuration, writeNumber } from "./number-literal.ts";
import { writeString } from "./string-literal.ts";
import { isPlainGroupingLabel, isPlainLabel, isReserved } from "./vocabulary.ts";

/** The canonical text of an expression: one line, one space between parts. It parses to an equal tree. */
export function formatExpression(expression: Expression): string {
  switch (expression.kind) {
    case "number":
      return writeNumber(expression.value);
    case "selector":
      return writeSelector(expression);
    case "call":
      return `${expression.fn}(${expression.args.map(formatExpression).join(", ")})`;
    case "aggregate":
      return `${expression.op}${writeBy(expression.by)}(${formatExpression(expression.of)})`;
    case "negate":
      return `-${formatExpression(expression.of)}`;
    case "binary": {
      const { left, right, op, isBool } = expression;
      return `${formatExpression(left)} ${op}${isBool ? " bool" : ""} ${formatExpression(right)}`;
    }
    case "group":
      return `(${formatExpression(expression.of)})`;
  }
}

function writeBy(labels: readonly string[] | undefined): string {
  if (labels === undefined) return "";
  return ` by (${labels.map((label) => (isPlainGroupingLabel(label) ? label : writeString(label))).join(", ")}) `;
}

function writeSelector({ metric, matchers, rangeMs }: Selector): string {
  const isPlain = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/u.test(metric) && !isReserved(metric);
  const inBraces = matchers.map(writeMatcher);
  if (!isPlain) inBraces.unshift(`__name__=${writeString(metric)}`);
  const braces = inBraces.length > 0 ? `{${inBraces.join(", ")}}` : "";
  return `${isPlain ? metric : ""}${braces}${rangeMs === undefined ? "" : `[${writeDuration(rangeMs)}]`}`;
}

function writeMatcher({ label, op, values }: LabelMatcher): string {
  const value = op === "=" ? (values[0] ?? "") : writeAlternatives(values);
  return `${isPlainLabel(label) ? label : writeString(label)}${op}${writeString(value)}`;
}
