import * as fc from "fast-check";
import { createTimeSlices } from "../../../../limits/clock.ts";
import type { SelectorSeries, SelectorsResult } from "../../../../runtime/metrics/request/selector.ts";
import type { Program } from "../../../../runtime/prometheus/compile/program.ts";
import {
  evaluate,
  type Evaluated,
  type Evaluation,
  type ResultSeries,
} from "../../../../runtime/prometheus/evaluate/evaluate.ts";
import type { BinaryOp, Expression, FunctionCall } from "../../../../runtime/prometheus/language/expression.ts";
import { parseExpression } from "../../../../runtime/prometheus/language/parse-expression.ts";

type Labels = SelectorSeries["labels"];

/** The points of a series: a number, or a gap. */
export type PlainPoints = readonly (number | undefined)[];

/** Series with the labels `component` and `service`; an empty value is no label. */
export interface PlainSeries {
  readonly component: string;
  readonly service: string;
  readonly points: PlainPoints;
}

/** Vectors by name. An expression names each like a metric. */
export type PlainVectors = Readonly<Record<string, readonly PlainSeries[]>>;

/** The labels of a series. */
export function labelsOf({ component, service }: PlainSeries): Labels {
  return { ...(component === "" ? {} : { component }), ...(service === "" ? {} : { service }) };
}

/** Vectors as the leaves of a result. */
export function selectorsOf(vectors: PlainVectors): SelectorsResult["selectors"] {
  return Object.values(vectors).map((all) => ({
    series: all.map((one) => ({
      labels: labelsOf(one),
      values: Float64Array.from(one.points, (point) => point ?? Number.NaN),
    })),
  }));
}

/** The program of an expression whose selectors are vectors. */
export function programOf(expression: Expression, names: readonly string[]): Program {
  const of = (part: Expression): Program => programOf(part, names);
  switch (expression.kind) {
    case "number":
      return { kind: "number", value: expression.value };
    case "selector":
      return { kind: "leaf", index: names.indexOf(expression.metric) };
    case "group":
      return of(expression.of);
    case "negate":
      return { kind: "negate", of: of(expression.of) };
    case "binary": {
      const { op, isBool, left, right } = expression;
      return { kind: "binary", op, isBool, left: of(left), right: of(right) };
    }
    case "call":
      return rankingOf(expression, of);
    case "aggregate":
    case "subquery":
      throw new TypeError(`${expression.kind} is not part of an expression of plain vectors`);
  }
}

function rankingOf({ fn, args: [count, ranked] }: FunctionCall, of: (part: Expression) => Program): Program {
  if (count?.kind !== "number" || ranked === undefined) throw new TypeError("only rankings are called");
  return { kind: "rank", order: fn === "topk" ? "desc" : "asc", count: count.value, of: of(ranked) };
}

/** Evaluates an expression of plain vectors. */
export function evaluatePlain(
  text: string,
  vectors: PlainVectors,
  { stamps, isInstant = false, slices = createTimeSlices() }: Pick<SelectorsResult, "stamps"> & Partial<Evaluation>,
): Promise<Evaluated> {
  const program = programOf(parseExpression(text), Object.keys(vectors));
  return evaluate(program, { stamps, selectors: selectorsOf(vectors) }, { isInstant, slices });
}

/** The points of a series, with a gap where there is none. */
export function pointsOf({ values, present }: ResultSeries): PlainPoints {
  return Array.from(values, (value, index) => (present[index] === 1 ? value : undefined));
}

const set: readonly BinaryOp[] = ["and", "or", "unless"];
const comparison: readonly BinaryOp[] = ["==", "!=", "<", "<=", ">", ">="];
const arithmetic: readonly BinaryOp[] = ["+", "-", "*", "/"];
const numbers = ["0", "1", "0.5", "3", "2e9", "1e-7", "Inf", "NaN"];

interface Random {
  readonly vector: fc.Arbitrary<string>;
  readonly scalar: fc.Arbitrary<string>;
}

/** Texts of expressions, of scalars too. Each operand of an operator is in parentheses. */
export function randomExpression(names: readonly string[]): fc.Arbitrary<string> {
  const { vector, scalar } = fc.letrec<{ readonly vector: string; readonly scalar: string }>((tie) => {
    const random: Random = { vector: tie("vector"), scalar: tie("scalar") };
    return {
      vector: fc.oneof({ maxDepth: 5, withCrossShrink: true }, fc.constantFrom(...names), ...vectorsOf(random)),
      scalar: fc.oneof({ maxDepth: 4, withCrossShrink: true }, fc.constantFrom(...numbers), ...scalarsOf(random)),
    };
  });
  return fc.oneof({ arbitrary: vector, weight: 9 }, { arbitrary: scalar, weight: 1 });
}

function vectorsOf({ vector, scalar }: Random): readonly fc.Arbitrary<string>[] {
  const points = fc.constantFrom(...arithmetic, ...comparison, ...comparison.map((op) => `${op} bool`));
  return [
    vector.map((of) => `-(${of})`),
    binary(vector, points, vector),
    binary(vector, points, scalar),
    binary(scalar, points, vector),
    binary(vector, fc.constantFrom(...set), vector),
  ];
}

function scalarsOf({ scalar }: Random): readonly fc.Arbitrary<string>[] {
  const points = fc.constantFrom(...arithmetic, ...comparison.map((op) => `${op} bool`));
  return [scalar.map((of) => `-(${of})`), binary(scalar, points, scalar)];
}

function binary(
  left: fc.Arbitrary<string>,
  op: fc.Arbitrary<string>,
  right: fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  return fc.tuple(left, op, right).map(([a, between, b]) => `(${a}) ${between} (${b})`);
}
