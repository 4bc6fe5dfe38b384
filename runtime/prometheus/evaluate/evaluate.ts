// The operators of expressions over the series of leaves, stamp by stamp. It reads no store and writes no text.
import type { TimeSlices } from "../../../limits/time-slices.ts";
import type { LeavesResult } from "../../metrics/leaves/leaf.ts";
import type { Program } from "../compile/program.ts";
import { createWork, evaluateProgram, type Value } from "./evaluate-program.ts";
import { constantPoints } from "./operators.ts";
import { compareLabels, type ResultSeries } from "./result-series.ts";

type Stamps = LeavesResult["stamps"];

/** The result of an expression: of an instant a scalar or a vector, of a range a matrix. */
export type Evaluated =
  | { readonly type: "scalar"; readonly stamps: Stamps; readonly value: number }
  | {
      readonly type: "vector" | "matrix";
      readonly stamps: Stamps;
      /** Each has a point. Sorted by labels. */
      readonly series: readonly ResultSeries[];
    };

/** How an expression is evaluated. */
export interface Evaluation {
  /** The result is of one instant, which is the first stamp. */
  readonly isInstant: boolean;
  readonly slices: TimeSlices;
}

/**
 * Evaluates a program over the series of its leaves, by the rules of Prometheus.
 *
 * @param result an expression without leaves needs stamps only
 * @throws Refusal `result_too_large`
 */
export async function evaluate(
  program: Program,
  { stamps, leaves }: Pick<LeavesResult, "stamps" | "leaves">,
  { isInstant, slices }: Evaluation,
): Promise<Evaluated> {
  const values: Value[] = [];
  const work = createWork(leaves, stamps.count);
  function* steps(): Generator<undefined, void> {
    values.push(yield* evaluateProgram(program, work));
  }
  await slices.collect(steps());
  const [value = 0] = values;
  if (typeof value === "number") {
    if (isInstant) return { type: "scalar", stamps, value };
    const series = stamps.count === 0 ? [] : [{ labels: {}, ...constantPoints(value, stamps.count) }];
    return { type: "matrix", stamps, series };
  }
  // A range after now has no stamps, and thus no series.
  const present = stamps.count === 0 ? [] : [...value.values()];
  const series = present.sort((a, b) => compareLabels(a.labels, b.labels));
  return { type: isInstant ? "vector" : "matrix", stamps, series };
}
