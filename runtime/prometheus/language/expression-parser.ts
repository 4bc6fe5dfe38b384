import { resultOrError } from "../../errors/result-or-error.ts";
import type { BinaryOp, Expression } from "./expression.ts";
import { type Edit, Fault, shorten } from "./literals.ts";
import { formatExpression } from "./format-expression.ts";
import { matchedSide, type Matching } from "./matched-side.ts";
import { aggregateOf, parseBy, parseLabels, parseSelector } from "./parse-selector.ts";
import { parseSubquery } from "./parse-subquery.ts";
import type { Token, TokenReader } from "./token-reader.ts";
import {
  adviceFor,
  aggregates,
  functions,
  isAggregate,
  isComparison,
  isRanking,
  nearestName,
  precedences,
} from "./vocabulary.ts";

/** The largest number of parts inside of each other. */
const depthMax = 100;

/** Parses the tokens of one expression. Operators bind as in Prometheus. */
export class ExpressionParser {
  readonly #reader: TokenReader;
  readonly #more: ReadonlySet<string>;
  /** Open parentheses, calls and signs around the next token. */
  #depth = 0;
  /** Depth of the tree that was parsed last. */
  #height = 0;

  /** @param more functions besides those of the subset */
  constructor(reader: TokenReader, more: ReadonlySet<string>) {
    this.#reader = reader;
    this.#more = more;
  }

  /** @throws Fault if the text is not an expression of the subset */
  parse(): Expression {
    if (this.#reader.isAtEnd()) throw new Fault("the expression is empty", 0);
    const expression = this.#parseBinary(1);
    if (!this.#reader.isAtEnd()) throw this.#rejectRest(expression, "an operator");
    return expression;
  }

  /** Reads operands between operators that bind at least this tightly. */
  #parseBinary(precedenceMin: number): Expression {
    let left = this.#parseSigned();
    let height = this.#height;
    for (;;) {
      const precedence = precedences.get(this.#reader.next.text.toLowerCase());
      if (precedence === undefined || precedence < precedenceMin || this.#reader.next.kind === "string") break;
      const operator = this.#reader.take();
      const op = operator.text.toLowerCase() as BinaryOp;
      const isBool = this.#acceptBool(op);
      this.#rejectMatching(left, precedence);
      const right = this.#parseBinary(precedence + 1);
      height = this.#grow(Math.max(height, this.#height), operator.start);
      const span = { start: left.span.start, end: right.span.end };
      left = { kind: "binary", op, isBool, left, right, span };
    }
    this.#height = height;
    return left;
  }

  #acceptBool(op: BinaryOp): boolean {
    if (!this.#reader.isAtKeyword("bool")) return false;
    const { start, end } = this.#reader.take();
    if (isComparison(op)) return true;
    throw new Fault(`bool is only allowed after comparison operators, not after ${op}`, start, {
      start,
      end,
      text: "",
    });
  }

  #rejectMatching(left: Expression, precedence: number): void {
    const keyword = this.#reader.next;
    if (!this.#reader.isAtKeyword("on") && !this.#reader.isAtKeyword("ignoring")) return;
    const kind = keyword.text.toLowerCase() === "on" ? "on" : "ignoring";
    const problem = `${keyword.text} is not supported, because both sides match on all labels`;
    const labels = resultOrError(() => {
      this.#reader.take();
      return parseLabels(this.#reader);
    }, Fault);
    const isGrouped = this.#reader.isAtKeyword("group_left") || this.#reader.isAtKeyword("group_right");
    const { start } = keyword;
    const edit =
      labels instanceof Fault || isGrouped
        ? undefined
        : this.#withoutMatching(left, { kind, labels: labels.labels }, { start, end: labels.end, precedence });
    throw new Fault(`${problem}; aggregate both sides by the same labels`, start, edit);
  }

  /** Aggregates both sides by the labels of the clause. A fault of the right side comes first. */
  #withoutMatching(
    left: Expression,
    matching: Matching,
    { start, end, precedence }: { readonly start: number; readonly end: number; readonly precedence: number },
  ): Edit {
    const right = resultOrError(() => this.#parseBinary(precedence + 1), Fault);
    if (right instanceof Fault) return right.edit ?? { start, end, text: "" };
    const [one, other] = [left, right].map((side) => formatExpression(matchedSide(side, matching)));
    const operator = this.#reader.text.slice(left.span.end, start).trim();
    return { start: left.span.start, end: right.span.end, text: `${one} ${operator} ${other}` };
  }

  /** Reads an operand with signs. A sign before a number is a part of the number. */
  #parseSigned(): Expression {
    const sign = this.#reader.next;
    if (this.#reader.isAt("+")) {
      const { start, end } = sign;
      throw new Fault("unary plus has no effect; remove it", start, { start, end, text: "" });
    }
    if (!this.#reader.accept("-")) return this.#parseOperand();
    const of = this.#nest(sign, () => this.#parseSigned());
    const span = { start: sign.start, end: of.span.end };
    return of.kind === "number" ? { kind: "number", value: -of.value, span } : { kind: "negate", of, span };
  }

  #parseOperand(): Expression {
    const token = this.#reader.next;
    const { kind, value, start, end } = token;
    this.#height = 1;
    if (kind === "number") {
      this.#reader.take();
      return { kind, value, span: { start, end } };
    }
    if (kind === "string") throw new Fault("a string is not an expression; use a number or a metric", start);
    if (kind === "name") return this.#parseNamed(this.#reader.take());
    if (this.#reader.isAt("(")) return this.#parseWindow(this.#parseGroup(token), token);
    if (this.#reader.isAt("{")) return parseSelector(this.#reader, undefined);
    throw this.#reader.unexpected("a metric, a number or a function");
  }

  #parseGroup(open: Token): Expression {
    this.#reader.take();
    const of = this.#nest(open, () => this.#parseBinary(1));
    if (!this.#reader.isAt(")")) throw this.#rejectRest(of, 'an operator or ")"');
    return { kind: "group", of, span: { start: open.start, end: this.#reader.take().end } };
  }

  /** Reads what begins with a name: a number, an aggregation, a call or a selector. */
  #parseNamed(name: Token): Expression {
    const lower = name.text.toLowerCase();
    const { start, end } = name;
    if (lower === "inf") return { kind: "number", value: Infinity, span: { start, end } };
    if (lower === "nan") return { kind: "number", value: Number.NaN, span: { start, end } };
    const isClause = this.#reader.isAtKeyword("by") || this.#reader.isAtKeyword("without");
    if (isAggregate(lower) && (isClause || this.#reader.isAt("(")))
      return this.#parseWindow(this.#parseAggregate(name, lower), name);
    if (!this.#reader.isAt("(")) return parseSelector(this.#reader, name);
    return this.#parseWindow(this.#parseCall(name), name);
  }

  /** Reads the window of a subquery where one is next. */
  #parseWindow(of: Expression, first: Token): Expression {
    if (!this.#reader.isAt("[")) return of;
    const part = parseSubquery(this.#reader, of);
    this.#height = this.#grow(this.#height, first.start);
    return part;
  }

  #parseAggregate(name: Token, op: string): Expression {
    if (!aggregates.has(op) && !isRanking(op)) throw this.#rejectName(name, op);
    const before = parseBy(this.#reader);
    const { args, end } = this.#parseArguments(name);
    const after = before === undefined ? parseBy(this.#reader) : undefined;
    return aggregateOf(name, op, { args, by: (before ?? after)?.labels, end: after?.end ?? end });
  }

  #parseCall(name: Token): Expression {
    if (!functions.has(name.text) && !this.#more.has(name.text)) throw this.#rejectName(name, name.text);
    const { args, end } = this.#parseArguments(name);
    return { kind: "call", fn: name.text, args, span: { start: name.start, end } };
  }

  #parseArguments(name: Token): { readonly args: readonly Expression[]; readonly end: number } {
    this.#reader.expect("(");
    const args: Expression[] = [];
    let height = 0;
    while (!this.#reader.isAt(")")) {
      args.push(this.#nest(name, () => this.#parseBinary(1)));
      height = Math.max(height, this.#height);
      if (this.#reader.isAt(")")) break;
      if (!this.#reader.isAt(",")) throw this.#rejectRest(args.at(-1), 'an operator, "," or ")"');
      this.#reader.take();
      if (this.#reader.isAt(")")) throw this.#reader.unexpected("an argument");
    }
    this.#height = height;
    return { args, end: this.#reader.expect(")").end };
  }

  /** The rejection of a function or an aggregation, with what the subset has instead. */
  #rejectName(name: Token, known: string): Fault {
    const { start, end } = name;
    const advice = adviceFor(known);
    const near = nearestName(known);
    const why = advice?.why ?? `supported functions: ${[...functions.keys()].join(", ")}`;
    const text = advice === undefined ? near : advice.instead;
    const edit = text === "argument" ? this.#lastArgument(name) : text && { start, end, text };
    return new Fault(`${shorten(name.text)} is not supported; ${why}`, start, edit === "" ? undefined : edit);
  }

  /** Puts the last argument of a call in the place of the call. Faults inside of the call come first. */
  #lastArgument(name: Token): Edit | undefined {
    const { start } = name;
    const found = resultOrError(() => {
      const before = parseBy(this.#reader);
      const { args, end } = this.#parseArguments(name);
      const after = before === undefined ? parseBy(this.#reader) : undefined;
      return { end: after?.end ?? end, span: args.at(-1)?.span };
    }, Fault);
    if (found instanceof Fault) return found.edit;
    const { end, span } = found;
    return span && { start, end, text: this.#reader.text.slice(span.start, span.end) };
  }

  /** The rejection of what is behind a whole expression. */
  #rejectRest(expression: Expression | undefined, wanted: string): Fault {
    const { text, kind, start } = this.#reader.next;
    if (kind === "string") return this.#reader.unexpected(wanted);
    const lower = text.toLowerCase();
    if (lower === "offset") return new Fault("offset is only allowed directly after a metric or its range", start);
    if (lower === "@") return new Fault("@ is not supported; set other times in the request", start);
    if (["%", "^", "atan2"].includes(lower)) return new Fault(`the operator ${lower} is not supported`, start);
    if (lower === "[" && expression?.kind !== "selector" && expression?.kind !== "subquery")
      return new Fault("a range is allowed only on a metric", start);
    return this.#reader.unexpected(wanted);
  }

  /** Parses a nested part. @throws Fault if the nesting is too deep */
  #nest(outer: Token, parse: () => Expression): Expression {
    this.#depth += 1;
    if (this.#depth > depthMax) throw tooDeep(outer.start);
    const part = parse();
    this.#depth -= 1;
    this.#height = this.#grow(this.#height, outer.start);
    return part;
  }

  #grow(height: number, start: number): number {
    if (height >= depthMax) throw tooDeep(start);
    return height + 1;
  }
}

function tooDeep(start: number): Fault {
  return new Fault(`the expression is nested deeper than ${depthMax} levels; split it`, start);
}
