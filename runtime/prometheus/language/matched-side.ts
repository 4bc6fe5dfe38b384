import type { Expression, FunctionCall } from "./expression.ts";
import { isRanking } from "./vocabulary.ts";

// Both sides of an operator with `on` or `ignoring`, aggregated so that they match without it.

/** The clause between two sides. */
export interface Matching {
  readonly kind: "on" | "ignoring";
  readonly labels: readonly string[];
}

/** A label of buckets, which functions of histograms read. */
const bucketLabel = "le";

/**
 * One side, grouped by the labels that the clause matches by. A metric without an aggregation gets one with `on`; with
 * `ignoring`, its labels are not known here.
 */
export function matchedSide(side: Expression, matching: Matching): Expression {
  const inside = (part: Expression): Expression => matchedSide(part, matching);
  switch (side.kind) {
    case "number":
      return side;
    case "group":
    case "negate":
    case "subquery":
      return { ...side, of: inside(side.of) };
    case "binary":
      return { ...side, left: inside(side.left), right: inside(side.right) };
    case "aggregate":
      return { ...side, by: groupedBy(side.by ?? [], matching) };
    case "call":
      return matchedCall(side, matching);
    case "selector":
      return averaged(side, matching);
  }
}

function matchedCall(call: FunctionCall, matching: Matching): Expression {
  if (!call.fn.startsWith("histogram_") && !isRanking(call.fn)) return averaged(call, matching);
  const [last] = call.args.slice(-1);
  return { ...call, args: [...call.args.slice(0, -1), ...(last ? [matchedSide(last, matching)] : [])] };
}

function groupedBy(by: readonly string[], { kind, labels }: Matching): readonly string[] | undefined {
  const matched =
    kind === "ignoring"
      ? by.filter((label) => !labels.includes(label))
      : [...labels, ...(by.includes(bucketLabel) ? [bucketLabel] : [])];
  return matched.length === 0 ? undefined : matched;
}

function averaged(of: Expression, matching: Matching): Expression {
  if (matching.kind === "ignoring") return of;
  return { kind: "aggregate", op: "avg", by: groupedBy([], matching), of, span: of.span };
}
