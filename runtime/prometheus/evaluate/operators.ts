import type { BinaryOp } from "../language/expression.ts";

/** Points of one series: a value for each stamp, and 1 for each stamp that has a point. A point may be NaN. */
export interface Points {
  readonly values: Float64Array;
  readonly present: Uint8Array;
}

/** An operator between the label sets of vectors. */
export type SetOp = "and" | "or" | "unless";
type ComparisonOp = "==" | "!=" | "<" | "<=" | ">" | ">=";
export type PointOp = Exclude<BinaryOp, SetOp>;
type ArithmeticOp = Exclude<PointOp, ComparisonOp>;

const arithmetic: Readonly<Record<ArithmeticOp, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
};

const comparisons: Readonly<Record<ComparisonOp, (left: number, right: number) => boolean>> = {
  "==": (left, right) => left === right,
  "!=": (left, right) => left !== right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
};

function isArithmetic(op: PointOp): op is ArithmeticOp {
  return op in arithmetic;
}

/** True for an operator of sets. */
export function isSetOp(op: BinaryOp): op is SetOp {
  return op === "and" || op === "or" || op === "unless";
}

/** An operator between two numbers. A comparison gives 1 or 0. */
export function combineNumbers(op: PointOp, left: number, right: number): number {
  return isArithmetic(op) ? arithmetic[op](left, right) : Number(comparisons[op](left, right));
}

/** An operator between points. */
export interface PointOperator {
  readonly op: PointOp;
  /** A comparison gives 1 or 0 and filters nothing. */
  readonly isBool: boolean;
  /** The operand whose values a filter keeps. */
  readonly kept: "left" | "right";
}

/** Applies an operator to the points of equal stamps. A stamp without both points has none. */
export function combinePoints(operator: PointOperator, left: Points, right: Points): Points {
  const combine = combinationOf(operator);
  const combined = newPoints(left.values.length);
  for (let index = 0; index < combined.values.length; index += 1) {
    if (left.present[index] === 0 || right.present[index] === 0) continue;
    const value = combine(left.values[index] ?? Number.NaN, right.values[index] ?? Number.NaN);
    if (value === undefined) continue;
    combined.values[index] = value;
    combined.present[index] = 1;
  }
  return combined;
}

/** The value of a point; undefined if a filter drops it. */
function combinationOf({ op, isBool, kept }: PointOperator): (left: number, right: number) => number | undefined {
  if (isArithmetic(op)) return arithmetic[op];
  const passes = comparisons[op];
  if (isBool) return (left, right) => Number(passes(left, right));
  return kept === "left"
    ? (left, right) => (passes(left, right) ? left : undefined)
    : (left, right) => (passes(left, right) ? right : undefined);
}

/** The points of the stamps at which other points are present, or absent. */
export function keepWhere(points: Points, other: Points, isPresent: boolean): Points {
  const wanted = Number(isPresent);
  return {
    values: points.values,
    present: points.present.map((present, index) => (other.present[index] === wanted ? present : 0)),
  };
}

/** The points, and those of others where there are none. */
export function fillFrom(points: Points, others: Points): Points {
  const filled = newPoints(points.values.length);
  for (let index = 0; index < points.values.length; index += 1) {
    const source = points.present[index] === 1 ? points : others;
    filled.values[index] = source.values[index] ?? Number.NaN;
    filled.present[index] = source.present[index] ?? 0;
  }
  return filled;
}

/** The points with the opposite sign. */
export function negatePoints({ values, present }: Points): Points {
  return { values: values.map((value) => -value), present };
}

/** The same point at each stamp. */
export function constantPoints(value: number, count: number): Points {
  return { values: new Float64Array(count).fill(value), present: new Uint8Array(count).fill(1) };
}

/** The points of a selector. It has no point where its value is NaN. */
export function selectorPoints(values: Float64Array): Points {
  const present = new Uint8Array(values.length);
  // A loop takes a tenth of the time of `from` with a function.
  for (let index = 0; index < values.length; index += 1) present[index] = Number.isNaN(values[index]) ? 0 : 1;
  return { values, present };
}

function newPoints(count: number): Points {
  return { values: new Float64Array(count), present: new Uint8Array(count) };
}
