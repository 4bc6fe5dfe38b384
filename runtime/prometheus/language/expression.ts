// The PromQL subset as text and as a tree: reading, types and canonical text. It knows no metric and computes nothing.
/** The position of a part in its text: the offset of its first character and of the one after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The operators between two expressions. */
export type BinaryOp = "+" | "-" | "*" | "/" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or" | "unless";

/** A condition on one label of a selector. */
export interface LabelMatcher {
  readonly label: string;
  /** `=`: one value. `=~`: a list of alternatives, each a literal, or `.+` for any value. `!=`: not the empty value. */
  readonly op: "=" | "=~" | "!=";
  /**
   * The literal values without escapes, in the order of the text. The empty value is that of series without the label.
   * An empty list is any value but that one.
   */
  readonly values: readonly string[];
  readonly span: Span;
}

/** A metric with conditions on its labels. */
export interface Selector {
  readonly kind: "selector";
  readonly metric: string;
  readonly matchers: readonly LabelMatcher[];
  /** The window of a range vector, as in `m[5m]`. @default an instant vector */
  readonly rangeMs?: number;
  /** How much earlier its samples are, as in `m offset 1d`. @default 0 */
  readonly offsetMs?: number;
  readonly span: Span;
}

/** An expression at each step of a window, as in `(m > bool 5)[1h:5m]`. */
export interface Subquery {
  readonly kind: "subquery";
  readonly of: Expression;
  readonly rangeMs: number;
  readonly stepMs: number;
  readonly span: Span;
}

/** A function with its arguments. */
export interface FunctionCall {
  readonly kind: "call";
  readonly fn: string;
  readonly args: readonly Expression[];
  readonly span: Span;
}

/** An aggregation over the series of a vector. */
export interface Aggregate {
  readonly kind: "aggregate";
  readonly op: string;
  /** The label names as written. `by ()` is an empty list; undefined without a clause. */
  readonly by: readonly string[] | undefined;
  readonly of: Expression;
  readonly span: Span;
}

/** Two expressions with an operator between them. */
export interface Binary {
  readonly kind: "binary";
  readonly op: BinaryOp;
  /** A comparison that gives 0 or 1 instead of filtering. */
  readonly isBool: boolean;
  readonly left: Expression;
  readonly right: Expression;
  readonly span: Span;
}

/** An expression of the subset. The depth of the tree is bounded, so that its readers may recurse. */
export type Expression =
  | { readonly kind: "number"; readonly value: number; readonly span: Span }
  | Selector
  | Subquery
  | FunctionCall
  | Aggregate
  | { readonly kind: "negate"; readonly of: Expression; readonly span: Span }
  | Binary
  | { readonly kind: "group"; readonly of: Expression; readonly span: Span };

/** The types of values that an expression can have. */
export type ExpressionType = "scalar" | "vector" | "range";

/** A text that is no expression of the subset. The message is one sentence. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
  /** Column of the fault in the text, from 1. Counts UTF-16 units from the beginning of the text, as `Span` does. */
  readonly column: number;
  /** An expression to write instead. @default none is known */
  readonly rewrite?: string;

  constructor(message: string, column: number, rewrite?: string) {
    super(message);
    this.column = column;
    if (rewrite !== undefined) this.rewrite = rewrite;
  }
}
