import type { Aggregate, Call, Expression, Selector, Span } from "../language/expression.ts";

/** The written form of one query: `outer(numbers, op by (…) (fn(selector)))`, of which every layer may be absent. */
export interface Shape {
  readonly outer?: { readonly fn: string; readonly numbers: readonly Expression[] };
  readonly op?: string;
  readonly by: readonly string[];
  readonly fn?: string;
  readonly selector: Selector;
  readonly span: Span;
}

/** Recognizes the form of one query; undefined when anything but one selector stands at its inside. */
export function shapeOf(part: Expression): Shape | undefined {
  const outer = outerOf(part);
  const inside = outer === undefined ? part : ungrouped(outer.args.at(-1) ?? part);
  const aggregate = inside.kind === "aggregate" ? inside : undefined;
  const within = aggregate === undefined ? inside : ungrouped(aggregate.of);
  const call = within.kind === "call" && within.args.length === 1 ? within : undefined;
  const selector = call === undefined ? within : ungrouped(call.args[0] ?? within);
  if (selector.kind !== "selector") return undefined;
  return { ...layersOf(outer, aggregate, call), selector, span: part.span };
}

function layersOf(
  outer: Call | undefined,
  aggregate: Aggregate | undefined,
  call: Call | undefined,
): Pick<Shape, "outer" | "op" | "by" | "fn"> {
  const numbers = outer?.args.slice(0, -1).map(ungrouped) ?? [];
  return {
    by: aggregate?.by ?? [],
    ...(outer === undefined ? {} : { outer: { fn: outer.fn, numbers } }),
    ...(aggregate === undefined ? {} : { op: aggregate.op }),
    ...(call === undefined ? {} : { fn: call.fn }),
  };
}

function outerOf(part: Expression): Call | undefined {
  return part.kind === "call" && part.fn.startsWith("histogram_") && part.args.length > 0 ? part : undefined;
}

/** Removes parentheses. */
export function ungrouped(expression: Expression): Expression {
  return expression.kind === "group" ? ungrouped(expression.of) : expression;
}
