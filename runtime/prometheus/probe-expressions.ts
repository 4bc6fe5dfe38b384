// Expressions without a metric that clients send to see if a server responds: `vector(1)`, `time() - 60`. Constants are
// no part of the language beside metrics, where a number does the same.
import type { TimeSlices } from "../../limits/time-slices.ts";
import type { LeavesResult } from "../metrics/leaves/leaf.ts";
import type { Program } from "./compile/program.ts";
import { evaluate, type Evaluated } from "./evaluate/evaluate.ts";
import type { Call, Expression } from "./language/expression.ts";
import { tryToParse } from "./language/parse-expression.ts";
import { isComparison, isSetOperator } from "./language/vocabulary.ts";

type Stamps = LeavesResult["stamps"];

/** A constant, computed like an expression over two leaves: the times of the stamps, and zeros. */
interface Probe {
  readonly type: "scalar" | "vector";
  readonly program: Program;
}

const names: ReadonlySet<string> = new Set(["vector", "time"]);
const namesOne = /\b(?:vector|time)\s*\(/u;
const times: Program = { kind: "leaf", index: 0 };
const zeros: Program = { kind: "leaf", index: 1 };

/** Recognizes a constant with `vector(…)` or `time()`; undefined for any other text. */
export function probeOf(text: string | undefined): Probe | undefined {
  if (text === undefined || !namesOne.test(text)) return undefined;
  const expression = tryToParse(text, names);
  return expression instanceof Error ? undefined : constantOf(expression);
}

/** Undefined for a part that is not constant, and for types that Prometheus rejects. */
function constantOf(part: Expression): Probe | undefined {
  switch (part.kind) {
    case "number":
      return { type: "scalar", program: { kind: "number", value: part.value } };
    case "group":
      return constantOf(part.of);
    case "negate": {
      const of = constantOf(part.of);
      return of && { type: of.type, program: { kind: "negate", of: of.program } };
    }
    case "call":
      return constantCall(part);
    case "binary":
      return constantBinary(part);
    case "aggregate":
    case "selector":
      return undefined;
    default:
      return part satisfies never;
  }
}

function constantCall({ fn, args }: Call): Probe | undefined {
  const [argument, ...others] = args;
  if (fn === "time" && argument === undefined) return { type: "scalar", program: times };
  const of = fn === "vector" && others.length === 0 && argument !== undefined ? constantOf(argument) : undefined;
  if (of?.type !== "scalar") return undefined;
  const program = { kind: "binary", op: "+", isBool: false, left: zeros, right: of.program } as const;
  return { type: "vector", program };
}

function constantBinary({ op, isBool, ...sides }: Extract<Expression, { kind: "binary" }>): Probe | undefined {
  const [left, right] = [constantOf(sides.left), constantOf(sides.right)];
  if (left === undefined || right === undefined) return undefined;
  const scalars = [left, right].filter(({ type }) => type === "scalar").length;
  if (isSetOperator(op) && scalars > 0) return undefined;
  // Two numbers compare with bool only. Of a number and a vector the vector is kept, which `time()` here is too.
  if (isComparison(op) && !isBool && (scalars === 2 || left.type === "scalar")) return undefined;
  const program = { kind: "binary", op, isBool, left: left.program, right: right.program } as const;
  return { type: scalars === 2 ? "scalar" : "vector", program };
}

/** The result of a probe: of an instant a vector or a scalar, of a range a matrix. */
export async function probeResult(
  { type, program }: Probe,
  stamps: Stamps,
  how: { readonly isInstant: boolean; readonly slices: TimeSlices },
): Promise<Evaluated> {
  const { startMs, stepMs, count } = stamps;
  const seconds = Float64Array.from({ length: count }, (_, index) => (startMs + index * stepMs) / 1_000);
  const leaves = [seconds, new Float64Array(count)].map((values) => ({ series: [{ labels: {}, values }] }));
  const evaluated = await evaluate(program, { stamps, leaves }, how);
  if (!how.isInstant || type === "vector" || evaluated.type === "scalar") return evaluated;
  return { type: "scalar", stamps, value: evaluated.series[0]?.values[0] ?? Number.NaN };
}
