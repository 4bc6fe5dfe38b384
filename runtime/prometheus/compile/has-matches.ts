import type { Leaf } from "../../metrics/leaves/leaf.ts";
import type { CompiledExpression, Program } from "./program.ts";

/** The labels of the series of a part, with the values that filters leave. */
type Side = Pick<Leaf, "groupBy" | "filters">;

/**
 * True when series of both sides of each operator can have equal labels, as far as the text says it. Without such
 * series the result is empty, whatever the stores hold.
 */
export function hasMatches({ leaves, program }: CompiledExpression): boolean {
  return sideOf(program, leaves) !== "unmatched";
}

/** The side that the labels of a part are from; a number has none. */
function sideOf(part: Program, leaves: readonly Leaf[]): Side | "unmatched" | undefined {
  switch (part.kind) {
    case "number":
      return undefined;
    case "leaf":
      return leaves[part.index];
    case "negate":
      return sideOf(part.of, leaves);
    case "binary":
      return sideOfBinary(part, leaves);
    default:
      return part satisfies never;
  }
}

function sideOfBinary({ op, left, right }: Program & { readonly kind: "binary" }, leaves: readonly Leaf[]) {
  const [one, other] = [sideOf(left, leaves), sideOf(right, leaves)];
  if (one === "unmatched" || other === "unmatched") return "unmatched";
  if (one === undefined || other === undefined) return one ?? other;
  // These two return series of one side without a match.
  return op === "or" || op === "unless" || canMatch(one, other) ? one : "unmatched";
}

function canMatch(left: Side, right: Side): boolean {
  if (left.groupBy.length !== right.groupBy.length) return false;
  return left.groupBy.every((label) => {
    const [own, others] = [left.filters.get(label), right.filters.get(label)];
    const canHaveOne = own === undefined || others === undefined || own.some((value) => others.includes(value));
    return right.groupBy.includes(label) && canHaveOne;
  });
}
