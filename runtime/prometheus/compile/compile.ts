// From a tree of the subset to governed queries and operators. It knows the catalog, but neither rights nor data.
import { leavesMax, type Leaf } from "../../metrics/leaves/leaf.ts";
import { ExpressionError, type Expression } from "../language/expression.ts";
import { formatExpression } from "../language/format-expression.ts";
import { typeOf } from "../language/type-of.ts";
import { compileLeaf, LeafError } from "./compile-leaf.ts";
import type { LookUp } from "./look-up.ts";
import type { CompiledExpression, Program } from "./program.ts";

type CompileLeaf = (part: Expression) => Leaf;

/**
 * Compiles an expression to governed queries and the computation over their series.
 *
 * @param names ids of metrics, for the hint of an unknown one. @default no hint
 * @throws ExpressionError where a part is no governed query, with an expression to write instead
 */
export function compileExpression(
  expression: Expression,
  lookUp: LookUp,
  names: () => Iterable<string> = () => [],
): CompiledExpression {
  const leafOf: CompileLeaf = (part) => compileLeaf(part, lookUp, names);
  try {
    return compileWith(expression, leafOf);
  } catch (error) {
    if (!(error instanceof LeafError)) throw error;
    throw new ExpressionError(error.message, error.column, repairedText(expression, leafOf));
  }
}

function compileWith(expression: Expression, leafOf: CompileLeaf): CompiledExpression {
  const leaves = new Map<string, { readonly leaf: Leaf; readonly index: number }>();
  const program = compilePart(expression, (part) => {
    const leaf = leafOf(part);
    const key = leafKey(leaf);
    const { index } = leaves.get(key) ?? { index: leaves.size };
    if (index === leavesMax) {
      const message = `an expression has at most ${leavesMax} different queries; this is one more`;
      throw new ExpressionError(message, part.span.start + 1);
    }
    leaves.set(key, { leaf, index });
    return { kind: "leaf", index };
  });
  // A part that is no governed query has the more helpful error. What remains are the types of operators.
  typeOf(expression);
  return { leaves: [...leaves.values()].map(({ leaf }) => leaf), program };
}

/** The text of the expression with other parts where they are no queries; undefined where a part has no remedy. */
function repairedText(expression: Expression, leafOf: CompileLeaf): string | undefined {
  try {
    const repaired = repair(expression, leafOf);
    typeOf(repaired);
    return formatExpression(repaired);
  } catch (error) {
    if (error instanceof ExpressionError) return error.rewrite;
    throw error;
  }
}

/** @throws ExpressionError for a part without a remedy */
function repair(part: Expression, leafOf: CompileLeaf): Expression {
  switch (part.kind) {
    case "number":
      return part;
    case "group":
    case "negate":
      return { ...part, of: repair(part.of, leafOf) };
    case "binary":
      return { ...part, left: repair(part.left, leafOf), right: repair(part.right, leafOf) };
    case "call":
    case "aggregate":
    case "selector":
      return repairLeaf(part, leafOf);
    default:
      return part satisfies never;
  }
}

function repairLeaf(part: Expression, leafOf: CompileLeaf): Expression {
  try {
    leafOf(part);
    return part;
  } catch (error) {
    if (error instanceof LeafError && error.instead !== undefined) return error.instead;
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
    case "aggregate":
    case "selector":
      return add(part);
    default:
      return part satisfies never;
  }
}

function leafKey({ metric, measure, filters, groupBy, widthSeconds }: Leaf): string {
  return JSON.stringify([metric, measure, [...filters], groupBy, widthSeconds]);
}
