// From a tree of the subset to governed queries and operators. It knows the catalog, but neither rights nor data.
import { rankedSeriesMax } from "../../../api/queries.ts";
import { ApiError } from "../../errors/api-error.ts";
import { resultOrError } from "../../errors/result-or-error.ts";
import { type MetricSelector, selectorsMax } from "../../metrics/request/selector.ts";
import { type Expression, ExpressionError, type FunctionCall } from "../language/expression.ts";
import { formatExpression } from "../language/format-expression.ts";
import { parseExpression, typeOf } from "../language/parse-expression.ts";
import { isRanking } from "../language/vocabulary.ts";
import { compileSelector, SelectorError } from "./compile-selector.ts";
import type { CompiledExpression, LookUp, Program } from "./program.ts";
import { numberOf } from "./rewrite.ts";

type CompileSelector = (part: Expression) => MetricSelector;

/**
 * Compiles an expression to governed queries and the computation over their series.
 *
 * @param names ids of metrics, for the hint of an unknown one. @default no hint
 * @throws ExpressionError if a part is not a governed query, with an expression to write instead
 */
export function compileExpression(
  expression: Expression,
  lookUp: LookUp,
  names: () => Iterable<string> = () => [],
): CompiledExpression {
  const selectorOf: CompileSelector = (part) => compileSelector(part, lookUp, names);
  try {
    return compileWith(expression, selectorOf);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new ExpressionError(error.message, error.column, repairedText(expression, selectorOf));
  }
}

function compileWith(expression: Expression, selectorOf: CompileSelector): CompiledExpression {
  const selectors = new Map<string, { readonly selector: MetricSelector; readonly index: number }>();
  const program = compilePart(expression, (part) => {
    const selector = selectorOf(part);
    const key = selectorKey(selector);
    const { index } = selectors.get(key) ?? { index: selectors.size };
    if (index === selectorsMax) {
      const message = `an expression can have at most ${selectorsMax} different selectors`;
      throw new ExpressionError(message, part.span.start + 1);
    }
    selectors.set(key, { selector, index });
    return { kind: "leaf", index };
  });
  // A part that is no governed query has the more helpful error. What remains are the types of operators.
  typeOf(expression);
  return { selectors: [...selectors.values()].map(({ selector }) => selector), program };
}

/** The text of the expression with other parts where they are no queries; undefined if a part has no remedy. */
function repairedText(expression: Expression, selectorOf: CompileSelector): string | undefined {
  const repaired = resultOrError(() => {
    const made = repair(expression, selectorOf);
    typeOf(made);
    return formatExpression(made);
  }, ExpressionError);
  return repaired instanceof ExpressionError ? repaired.rewrite : repaired;
}

/** @throws ExpressionError for a part without a remedy */
function repair(part: Expression, selectorOf: CompileSelector): Expression {
  switch (part.kind) {
    case "number":
      return part;
    case "group":
    case "negate":
      return { ...part, of: repair(part.of, selectorOf) };
    case "binary":
      return { ...part, left: repair(part.left, selectorOf), right: repair(part.right, selectorOf) };
    case "call":
      return repairCall(part, selectorOf);
    case "aggregate":
    case "selector":
    case "subquery":
      return repairSelector(part, selectorOf);
    default:
      return part satisfies never;
  }
}

function repairCall(call: FunctionCall, selectorOf: CompileSelector): Expression {
  if (isTime(call)) return call;
  if (!isRanking(call.fn)) return repairSelector(call, selectorOf);
  return { ...call, args: call.args.map((argument) => repair(argument, selectorOf)) };
}

function repairSelector(part: Expression, selectorOf: CompileSelector): Expression {
  try {
    selectorOf(part);
    return part;
  } catch (error) {
    if (error instanceof SelectorError && error.instead !== undefined) return error.instead;
    throw error;
  }
}

function compilePart(part: Expression, add: (part: Expression) => Program): Program {
  switch (part.kind) {
    case "number":
      return { kind: "number", value: part.value };
    case "group":
      return compilePart(part.of, add);
    case "negate":
      return { kind: "negate", of: compilePart(part.of, add) };
    case "binary": {
      const { op, isBool } = part;
      return { kind: "binary", op, isBool, left: compilePart(part.left, add), right: compilePart(part.right, add) };
    }
    case "call":
      return compileCall(part, add);
    case "aggregate":
    case "selector":
    case "subquery":
      return add(part);
    default:
      return part satisfies never;
  }
}

/** A time, a ranking or a query. */
function compileCall(call: FunctionCall, add: (part: Expression) => Program): Program {
  if (isTime(call)) return { kind: "time" };
  return isRanking(call.fn) ? compileRanking(call, add) : add(call);
}

function isTime({ fn }: FunctionCall): boolean {
  return fn === "time";
}

/** @throws ExpressionError unless it ranks a part by a number that is written out */
function compileRanking({ fn, args, span }: FunctionCall, add: (part: Expression) => Program): Program {
  const [number, of, ...others] = args;
  const count = numberOf(number) ?? 0;
  if (number === undefined || of === undefined || others.length > 0)
    throw new ExpressionError(`${fn} takes 2 arguments, not ${args.length}`, span.start + 1);
  if (!Number.isInteger(count) || count < 1 || count > rankedSeriesMax) {
    const message = `${fn} requires a whole number of series from 1 to ${rankedSeriesMax}`;
    throw new ExpressionError(message, number.span.start + 1);
  }
  return { kind: "rank", order: fn === "topk" ? "desc" : "asc", count, of: compilePart(of, add) };
}

/** Equal for equal selectors only. */
export function selectorKey(selector: MetricSelector): string {
  const { metric, measure, filters, groupBy, widthSeconds, slices, offsetSeconds } = selector;
  return JSON.stringify([metric, measure, [...filters], groupBy, widthSeconds, slices, offsetSeconds]);
}

/** Most texts that are tried in the place of a rejected one. */
const rewritesMax = 3;

/**
 * Compiles the text of an expression.
 *
 * @param names ids of metrics, for the hint of an unknown one
 * @throws ExpressionError with a text that compiles, if one is known; what the look-up throws
 */
export function compileText(text: string, lookUp: LookUp, names: () => Iterable<string>): CompiledExpression {
  const compile = (own: string): CompiledExpression => compileExpression(parseExpression(own), lookUp, names);
  try {
    return compile(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new ExpressionError(error.message, error.column, workingRewrite(error.rewrite, compile));
  }
}

/** The parser knows no metrics, so that its rewrite may itself be rejected, with another one. */
function workingRewrite(
  proposed: string | undefined,
  compile: (text: string) => CompiledExpression,
): string | undefined {
  let text = proposed;
  for (let tries = 0; text !== undefined && tries < rewritesMax; tries += 1) {
    try {
      return hasMatches(compile(text)) ? text : undefined;
    } catch (error) {
      if (error instanceof ExpressionError) text = error.rewrite;
      // The caller may not read a metric of the text.
      else if (error instanceof ApiError) return undefined;
      else throw error;
    }
  }
  return undefined;
}

/** The labels of the series of a part, with the values that filters leave. */
type Side = Pick<MetricSelector, "groupBy" | "filters">;

/**
 * True when series of both sides of each operator can have equal labels, as far as the text says it. Without such
 * series the result is empty, whatever the stores hold.
 */
function hasMatches({ selectors, program }: CompiledExpression): boolean {
  return sideOf(program, selectors) !== "unmatched";
}

/** The side that the labels of a part are from; a number has none. */
function sideOf(part: Program, selectors: readonly MetricSelector[]): Side | "unmatched" | undefined {
  switch (part.kind) {
    case "number":
    case "time":
      return undefined;
    case "leaf":
      return selectors[part.index];
    case "negate":
    case "rank":
      return sideOf(part.of, selectors);
    case "binary":
      return sideOfBinary(part, selectors);
    default:
      return part satisfies never;
  }
}

function sideOfBinary(
  { op, left, right }: Program & { readonly kind: "binary" },
  selectors: readonly MetricSelector[],
) {
  const [one, other] = [sideOf(left, selectors), sideOf(right, selectors)];
  if (one === "unmatched" || other === "unmatched") return "unmatched";
  if (one === undefined || other === undefined) return one ?? other;
  // These two return series of one side without a match.
  return op === "or" || op === "unless" || canMatch(one, other) ? one : "unmatched";
}

function canMatch(left: Side, right: Side): boolean {
  if (left.groupBy.length !== right.groupBy.length) return false;
  return left.groupBy.every((label) => {
    const [own, others] = [left.filters.get(label), right.filters.get(label)];
    return right.groupBy.includes(label) && (own === undefined || others === undefined || haveCommon(own, others));
  });
}

/** Tests if two filters of one label match one value. */
function haveCommon(own: readonly string[], others: readonly string[]): boolean {
  if (own.length === 0) return others.length === 0 || others.some((value) => value !== "");
  return own.some((value) => (others.length === 0 ? value !== "" : others.includes(value)));
}
