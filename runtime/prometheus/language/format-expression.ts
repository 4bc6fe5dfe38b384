import type { Expression, LabelMatcher, Selector } from "./expression.ts";
import { writeDuration, writeNumber, writeString } from "./literals.ts";
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
    case "subquery": {
      const { of, rangeMs, stepMs } = expression;
      return `${formatExpression(of)}[${writeDuration(rangeMs)}:${writeDuration(stepMs)}]`;
    }
  }
}

function writeBy(labels: readonly string[] | undefined): string {
  if (labels === undefined) return "";
  return ` by (${labels.map((label) => (isPlainGroupingLabel(label) ? label : writeString(label))).join(", ")}) `;
}

function writeSelector({ metric, matchers, rangeMs, offsetMs }: Selector): string {
  const isPlain = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/u.test(metric) && !isReserved(metric);
  const inBraces = matchers.map(writeMatcher);
  if (!isPlain) inBraces.unshift(`__name__=${writeString(metric)}`);
  const braces = inBraces.length > 0 ? `{${inBraces.join(", ")}}` : "";
  const range = rangeMs === undefined ? "" : `[${writeDuration(rangeMs)}]`;
  const offset = offsetMs === undefined ? "" : ` offset ${writeDuration(offsetMs)}`;
  return `${isPlain ? metric : ""}${braces}${range}${offset}`;
}

function writeMatcher({ label, op, values }: LabelMatcher): string {
  const value = op === "=~" ? (values.length === 0 ? anyValue : writeAlternatives(values)) : (values[0] ?? "");
  return `${isPlainLabel(label) ? label : writeString(label)}${op}${writeString(value)}`;
}

/** The regular expression of every value but the empty one. */
export const anyValue = ".+";

/** Characters that a regular expression reads as more than themselves. */
const special = /[\\.+*?()|[\]{}^$]/gu;

/** A part of a list of alternatives: `|`, an escaped character, or plain text. */
const part = /\||\\([!-/:-@[-`{-~ ])|([^\\.+*?()|[\]{}^$]+)/uy;

/**
 * The values of a regular expression that is a list of literals: `a`, `a|b` or `(a|b)`.
 *
 * @returns undefined when it is anything else
 */
export function readAlternatives(pattern: string): readonly string[] | undefined {
  const list = /^\((.*)\)$/su.exec(pattern)?.[1] ?? pattern;
  const values: string[] = [];
  let value = "";
  for (part.lastIndex = 0; part.lastIndex < list.length;) {
    const [found, escaped, plain] = part.exec(list) ?? [];
    if (found === undefined) return undefined;
    if (found === "|") {
      values.push(value);
      value = "";
    } else value += escaped ?? plain ?? "";
  }
  values.push(value);
  return values;
}

/** A regular expression that matches only these values. */
export function writeAlternatives(values: readonly string[]): string {
  return values.map((value) => value.replace(special, "\\$&")).join("|");
}

/**
 * The list of literals that the author of a regular expression probably means: anchors and groups without a capture are
 * left out, since a match covers the whole value, and a dot between other characters stands for itself.
 */
export function guessAlternatives(pattern: string): readonly string[] | undefined {
  const bare = pattern.replace(/^\^/u, "").replace(/(?<!\\)\$$/u, "");
  const group = bare.replace(/^\(\?:(.*)\)$/su, "($1)");
  return readAlternatives(group) ?? readAlternatives(group.replace(/(?<=[\w-])\.(?=[\w-])/gu, "\\."));
}
