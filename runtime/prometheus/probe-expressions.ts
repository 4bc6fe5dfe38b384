// Expressions that clients send to see if a server answers. They name no metric and are no part of the language.
import type { LeavesResult } from "../metrics/leaves/leaf.ts";
import type { Evaluated } from "./evaluate/evaluate.ts";
import { parseExpression } from "./language/parse-expression.ts";

type Stamps = LeavesResult["stamps"];
type Probe = { readonly kind: "vector"; readonly value: number } | { readonly kind: "time" };

const vectorForm = /^\s*vector\s*\((?<number>[^()]{1,40})\)\s*$/u;
const timeForm = /^\s*time\s*\(\s*\)\s*$/u;

/** Recognizes `vector(NUMBER)`, which Flagger sends, and `time()`; undefined for any other text. */
export function probeOf(text: string | undefined): Probe | undefined {
  if (text === undefined) return undefined;
  if (timeForm.test(text)) return { kind: "time" };
  const value = numberOf(vectorForm.exec(text)?.groups?.["number"]);
  return value === undefined ? undefined : { kind: "vector", value };
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const expression = parseExpression(text);
    return expression.kind === "number" ? expression.value : undefined;
  } catch {
    return undefined;
  }
}

/** The result of a probe: of an instant a vector or a scalar, of a range a matrix. */
export function probeResult(probe: Probe, stamps: Stamps, isInstant: boolean): Evaluated {
  const { startMs, stepMs, count } = stamps;
  const valueAt = (index: number): number =>
    probe.kind === "vector" ? probe.value : (startMs + index * stepMs) / 1_000;
  if (isInstant && probe.kind === "time") return { type: "scalar", stamps, value: valueAt(0) };
  const values = Float64Array.from({ length: count }, (_, index) => valueAt(index));
  const series = count === 0 ? [] : [{ labels: {}, values, present: new Uint8Array(count).fill(1) }];
  return { type: isInstant ? "vector" : "matrix", stamps, series };
}
