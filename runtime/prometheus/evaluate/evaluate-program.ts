import { Refusal } from "../../errors/refusal.ts";
import type { LeavesResult } from "../../metrics/leaves/leaf.ts";
import { labelsKey } from "../../metrics/planning/labels.ts";
import type { Program } from "../compile/program.ts";
import {
  combineNumbers,
  combinePoints,
  constantPoints,
  fillFrom,
  keepWhere,
  isSetOp,
  leafPoints,
  negatePoints,
  type Points,
  type SetOp,
} from "./operators.ts";
import type { ResultSeries } from "./result-series.ts";

/** Series by their labels. Each has a point. */
type Vector = ReadonlyMap<string, ResultSeries>;

/** A scalar or a vector. */
export type Value = number | Vector;

/** Most points that the operators of one expression compute. */
const pointsMax = 1_000_000;

/** The data of one evaluation and what is left of its bound. */
export interface Work {
  readonly count: number;
  readonly leaf: (index: number) => Vector;
  /** Counts the points of series. @throws Refusal `result_too_large` */
  readonly spend: (series: number) => void;
}

type Steps<Result> = Generator<undefined, Result>;

interface Operands {
  readonly left: Value;
  readonly right: Value;
  readonly work: Work;
}

type BinaryProgram = Extract<Program, { readonly kind: "binary" }>;

/** Prepares an evaluation. */
export function createWork(leaves: LeavesResult["leaves"], count: number): Work {
  let left = pointsMax;
  const vectors = new Map<number, Vector>();
  const leaf = (index: number): Vector => {
    const known = vectors.get(index) ?? vectorOf((leaves[index]?.series ?? []).map(leafSeries));
    vectors.set(index, known);
    return known;
  };
  const spend = (series: number): void => {
    left -= series * count;
    if (left >= 0) return;
    throw new Refusal(
      "result_too_large",
      `the operators of the expression compute more than ${pointsMax} points; use a larger step or fewer series`,
    );
  };
  return { count, leaf, spend };
}

function leafSeries({ labels, values }: LeavesResult["leaves"][number]["series"][number]): ResultSeries {
  return { labels, ...leafPoints(values) };
}

/** Evaluates a program. It pauses after each series. */
export function* evaluateProgram(program: Program, work: Work): Steps<Value> {
  switch (program.kind) {
    case "number":
      return program.value;
    case "leaf":
      return work.leaf(program.index);
    case "negate": {
      const value = yield* evaluateProgram(program.of, work);
      return typeof value === "number" ? -value : yield* mapSeries(value, work, negatePoints);
    }
    case "binary": {
      const left = yield* evaluateProgram(program.left, work);
      const right = yield* evaluateProgram(program.right, work);
      return yield* evaluateBinary(program, { left, right, work });
    }
    default:
      return program satisfies never;
  }
}

function* evaluateBinary({ op, isBool }: BinaryProgram, { left, right, work }: Operands): Steps<Value> {
  if (isSetOp(op)) return yield* combineSets(op, { left, right, work });
  if (typeof left === "number") {
    if (typeof right === "number") return combineNumbers(op, left, right);
    const constant = constantPoints(left, work.count);
    return yield* mapSeries(right, work, (own) => combinePoints({ op, isBool, kept: "right" }, constant, own));
  }
  const constant = typeof right === "number" ? constantPoints(right, work.count) : undefined;
  return yield* mapSeries(left, work, (own, key) => {
    const other = constant ?? (right as Vector).get(key);
    return other && combinePoints({ op, isBool, kept: "left" }, own, other);
  });
}

function* combineSets(op: SetOp, { left, right, work }: Operands): Steps<Vector> {
  if (typeof left === "number" || typeof right === "number") throw new TypeError(`${op} takes vectors only`);
  const whenAlone = (own: ResultSeries): Points | undefined => (op === "and" ? undefined : own);
  const mapped = yield* mapSeries(left, work, (own, key) => {
    const other = right.get(key);
    if (other === undefined) return whenAlone(own);
    return op === "or" ? fillFrom(own, other) : keepWhere(own, other, op === "and");
  });
  const added = op === "or" ? [...right].filter(([key]) => !left.has(key)) : [];
  return new Map([...mapped, ...added]);
}

/** Computes the points of each series by its labels. A series without points is dropped. */
function* mapSeries(
  vector: Vector,
  { spend }: Work,
  compute: (series: ResultSeries, key: string) => Points | undefined,
): Steps<Vector> {
  const mapped = new Map<string, ResultSeries>();
  for (const [key, series] of vector) {
    spend(1);
    const points = compute(series, key);
    if (points?.present.includes(1) === true) mapped.set(key, { labels: series.labels, ...points });
    yield;
  }
  return mapped;
}

/** @throws TypeError for two series with the same labels, which no leaf has */
function vectorOf(series: readonly ResultSeries[]): Vector {
  const present = series.filter((one) => one.present.includes(1));
  const vector = new Map(present.map((one) => [labelsKey(one.labels), one]));
  if (vector.size < present.length) throw new TypeError("a vector has two series with the same labels");
  return vector;
}
