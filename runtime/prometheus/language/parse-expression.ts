import { resultOrError } from "../../errors/result-or-error.ts";
import { ExpressionParser } from "./expression-parser.ts";
import { type Expression, ExpressionError, type ExpressionType } from "./expression.ts";
import { formatExpression } from "./format-expression.ts";
import { applyEdit, Fault } from "./literals.ts";
import { TokenReader } from "./token-reader.ts";
import { functions, isComparison, isSetOperator } from "./vocabulary.ts";

/** Characters of the longest text. */
export const charactersMax = 8_192;
/** How many faults of one text a rewrite removes. */
const editsMax = 8;
const noMore: ReadonlySet<string> = new Set();

/**
 * Parses an expression of the subset. Types are not checked.
 *
 * @throws ExpressionError if the text is not an expression, or not in the subset
 */
export function parseExpression(text: string): Expression {
  const parsed = tryToParse(text);
  if (!(parsed instanceof Fault)) return parsed;
  throw new ExpressionError(parsed.message, parsed.start + 1, rewriteOf(text, parsed));
}

/**
 * Parses an expression, or returns its first fault.
 *
 * @param more functions besides those of the subset. @default none
 */
export function tryToParse(text: string, more: ReadonlySet<string> = noMore): Expression | Fault {
  const tooLong = `the expression has ${text.length} characters; at most ${charactersMax} are allowed`;
  if (text.length > charactersMax) return new Fault(tooLong, charactersMax);
  return resultOrError(() => new ExpressionParser(new TokenReader(text), more).parse(), Fault);
}

/** The text without its faults, or undefined when one of them has no remedy. */
function rewriteOf(text: string, fault: Fault): string | undefined {
  let rewritten = text;
  let next: Expression | Fault = fault;
  for (let edits = 0; next instanceof Fault; edits += 1) {
    if (next.edit === undefined || edits === editsMax) return undefined;
    rewritten = applyEdit(rewritten, next.edit);
    next = tryToParse(rewritten);
  }
  return withTypes(next);
}

/** The canonical text when the types are right, or the rewrite that the rejection of the types proposes. */
function withTypes(expression: Expression): string | undefined {
  const type = resultOrError(() => typeOf(expression), ExpressionError);
  return type instanceof ExpressionError ? type.rewrite : formatExpression(expression);
}

/** The window that rewrites propose. */
const usualWindowMs = 300_000;
/** How many faults of one expression a rewrite removes. */
const replacementsMax = 8;

const descriptions: Readonly<Record<ExpressionType, string>> = {
  scalar: "a number",
  vector: "series",
  range: "a metric with a range such as [5m]",
};

/** A part whose types do not fit, with the part to write instead if one is known. */
class TypeFault extends Error {
  override readonly name = "TypeFault";
  readonly part: Expression;
  readonly instead: Expression | undefined;

  constructor(message: string, part: Expression, instead?: Expression) {
    super(message);
    this.part = part;
    this.instead = instead;
  }
}

/**
 * The type of an expression. Every part of it is checked.
 *
 * @throws ExpressionError if Prometheus rejects the types
 */
export function typeOf(expression: Expression): ExpressionType {
  const type = tryToType(expression);
  if (!(type instanceof TypeFault)) return type;
  throw new ExpressionError(type.message, type.part.span.start + 1, typeRewriteOf(expression, type));
}

function tryToType(expression: Expression): ExpressionType | TypeFault {
  return resultOrError(() => typeIn(expression), TypeFault);
}

/** The text with other parts in the place of the faulty ones, or undefined when one of them has no remedy. */
function typeRewriteOf(expression: Expression, fault: TypeFault): string | undefined {
  let rewritten = expression;
  let next: ExpressionType | TypeFault = fault;
  for (let replacements = 0; next instanceof TypeFault; replacements += 1) {
    const { part, instead } = next;
    if (instead === undefined || replacements === replacementsMax) return undefined;
    rewritten = replace(rewritten, part, instead);
    next = tryToType(rewritten);
  }
  return formatExpression(rewritten);
}

function replace(whole: Expression, part: Expression, instead: Expression): Expression {
  if (whole === part) return instead;
  const inside = (child: Expression): Expression => replace(child, part, instead);
  switch (whole.kind) {
    case "number":
    case "selector":
      return whole;
    case "call":
      return { ...whole, args: whole.args.map(inside) };
    case "binary":
      return { ...whole, left: inside(whole.left), right: inside(whole.right) };
    case "aggregate":
    case "negate":
    case "group":
    case "subquery":
      return { ...whole, of: inside(whole.of) };
  }
}

function typeIn(part: Expression): ExpressionType {
  switch (part.kind) {
    case "number":
      return "scalar";
    case "selector":
      return part.rangeMs === undefined ? "vector" : "range";
    case "group":
      return typeIn(part.of);
    case "subquery":
      return typeOfSubquery(part);
    case "negate":
      return typeWithoutWindow(part.of, "a sign");
    case "aggregate":
      return typeOfAggregate(part);
    case "call":
      return typeOfCall(part);
    case "binary":
      return typeOfBinary(part);
  }
}

function typeWithoutWindow(part: Expression, where: string): ExpressionType {
  const type = typeIn(part);
  if (type !== "range") return type;
  const advice = "wrap it in a function such as avg_over_time or rate";
  throw new TypeFault(`${where} does not accept a range vector; ${advice}`, part);
}

function typeOfSubquery({ of }: Expression & { kind: "subquery" }): ExpressionType {
  if (typeWithoutWindow(of, "a subquery") === "vector") return "range";
  throw new TypeFault("a subquery requires series, not a number", of);
}

function typeOfAggregate({ op, of }: Expression & { kind: "aggregate" }): ExpressionType {
  if (typeWithoutWindow(of, op) === "vector") return "vector";
  throw new TypeFault(`${op} aggregates series, not a number`, of);
}

function typeOfCall(call: Expression & { kind: "call" }): ExpressionType {
  const { fn, args } = call;
  const wanted = functions.get(fn) ?? [];
  if (args.length !== wanted.length) {
    const plural = wanted.length === 1 ? "" : "s";
    throw new TypeFault(`${fn} takes ${wanted.length} argument${plural}, not ${args.length}`, call);
  }
  for (const [index, argument] of args.entries()) {
    const type = wanted[index] ?? "vector";
    if (typeIn(argument) === type) continue;
    const canHaveWindow = argument.kind === "selector" && type === "range";
    const instead = canHaveWindow ? { ...argument, rangeMs: usualWindowMs } : undefined;
    throw new TypeFault(`argument ${index + 1} of ${fn} must be ${descriptions[type]}`, argument, instead);
  }
  return fn === "time" ? "scalar" : "vector";
}

function typeOfBinary(part: Expression & { kind: "binary" }): ExpressionType {
  const { op, left, right } = part;
  const isNumber = (side: Expression): boolean => typeWithoutWindow(side, op) === "scalar";
  const [isLeftNumber, isRightNumber] = [isNumber(left), isNumber(right)];
  if (isSetOperator(op) && (isLeftNumber || isRightNumber))
    throw new TypeFault(`${op} requires series on both sides, not a number`, isLeftNumber ? left : right);
  if (!isLeftNumber || !isRightNumber) return "vector";
  if (!isComparison(op) || part.isBool) return "scalar";
  throw new TypeFault(`comparing two numbers requires ${op} bool`, part, { ...part, isBool: true });
}
