// The operators of expressions over the series of selectors, stamp by stamp. It reads no store and writes no text.
import type { TimeSlices } from "../../../limits/clock.ts";
import { rankedSeriesMax } from "../../../api/queries.ts";
import { ApiError, invalidField } from "../../errors/api-error.ts";
import { labelsKey } from "../../metrics/planning/plan.ts";
import type { SelectorSeries, SelectorsResult } from "../../metrics/request/selector.ts";
import type { Program } from "../compile/program.ts";
import {
  combineNumbers,
  combinePoints,
  compareLabels,
  compareRanked,
  constantPoints,
  fillFrom,
  isSetOp,
  keepWhere,
  selectorPoints,
  negatePoints,
  type PointOp,
  type PointRanking,
  type Points,
  rankPoints,
  type SetOp,
} from "./operators.ts";

type Stamps = SelectorsResult["stamps"];

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
 * Evaluates a program over the series of its selectors, by the rules of Prometheus.
 *
 * @param result an expression without selectors needs stamps only
 * @throws ApiError `result_too_large`
 */
export async function evaluate(
  program: Program,
  { stamps, selectors }: Pick<SelectorsResult, "stamps" | "selectors">,
  { isInstant, slices }: Evaluation,
): Promise<Evaluated> {
  const values: Value[] = [];
  const work = createWork(selectors, stamps);
  function* steps(): Generator<undefined, void> {
    values.push(yield* evaluateProgram(program, work));
  }
  await slices.collect(steps());
  const [value = 0] = values;
  if (isScalar(value)) {
    if (isInstant) return { type: "scalar", stamps, value: typeof value === "number" ? value : (value[0] ?? 0) };
    const series = stamps.count === 0 ? [] : [{ labels: {}, ...scalarPoints(value, stamps.count) }];
    return { type: "matrix", stamps, series };
  }
  // A range after now has no stamps, and thus no series.
  const series = (stamps.count === 0 ? [] : [...value.values()]).sort(orderOf(program, isInstant));
  return { type: isInstant ? "vector" : "matrix", stamps, series };
}

/** The order of the series of a result. A ranking of an instant has its own. */
function orderOf(program: Program, isInstant: boolean): (a: ResultSeries, b: ResultSeries) => number {
  if (!isInstant || program.kind !== "rank") return (a, b) => compareLabels(a.labels, b.labels);
  const by = (a: Points, b: Points) => compareRanked(a.values[0] ?? 0, b.values[0] ?? 0, program.order);
  return (a, b) => by(a, b) || compareLabels(a.labels, b.labels);
}

/** Series by their labels. Each has a point. */
type Vector = ReadonlyMap<string, ResultSeries>;

/** A number, or one for each stamp. */
type Scalar = number | Float64Array;

/** A scalar or a vector. */
type Value = Scalar | Vector;

function isScalar(value: Value): value is Scalar {
  return typeof value === "number" || value instanceof Float64Array;
}

function scalarPoints(scalar: Scalar, count: number): Points {
  return typeof scalar === "number" ? constantPoints(scalar, count) : { ...constantPoints(0, count), values: scalar };
}

function mapScalar(scalar: Scalar, compute: (value: number, index: number) => number): Scalar {
  return typeof scalar === "number" ? compute(scalar, 0) : scalar.map(compute);
}

/** An operator between two scalars. */
function combineScalars(op: PointOp, left: Scalar, right: Scalar): Scalar {
  if (typeof right === "number") return mapScalar(left, (value) => combineNumbers(op, value, right));
  if (typeof left === "number") return mapScalar(right, (value) => combineNumbers(op, left, value));
  return mapScalar(left, (value, index) => combineNumbers(op, value, right[index] ?? Number.NaN));
}

/** Most points that the operators of one expression compute. */
const pointsMax = 1_000_000;

/** The data of one evaluation and what is left of its bound. */
interface Work {
  readonly count: number;
  /** Unix seconds of each stamp. */
  readonly times: () => Float64Array;
  readonly selector: (index: number) => Vector;
  /** Counts the points of series. @throws ApiError `result_too_large` */
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
function createWork(selectors: SelectorsResult["selectors"], { startMs, stepMs, count }: Stamps): Work {
  let left = pointsMax;
  const vectors = new Map<number, Vector>();
  const selector = (index: number): Vector => {
    const known = vectors.get(index) ?? vectorOf((selectors[index]?.series ?? []).map(selectorSeries));
    vectors.set(index, known);
    return known;
  };
  const spend = (series: number): void => {
    left -= series * count;
    if (left >= 0) return;
    throw new ApiError(
      "result_too_large",
      `the operators of the expression compute more than ${pointsMax} points; use a larger step or fewer series`,
    );
  };
  const times = (): Float64Array =>
    Float64Array.from({ length: count }, (_, index) => (startMs + index * stepMs) / 1_000);
  return { count, times, selector, spend };
}

function selectorSeries({ labels, values }: SelectorsResult["selectors"][number]["series"][number]): ResultSeries {
  return { labels, ...selectorPoints(values) };
}

/** Evaluates a program. It pauses after each series. */
function* evaluateProgram(program: Program, work: Work): Steps<Value> {
  switch (program.kind) {
    case "number":
      return program.value;
    case "time":
      return work.times();
    case "leaf":
      return work.selector(program.index);
    case "negate": {
      const value = yield* evaluateProgram(program.of, work);
      if (isScalar(value)) return mapScalar(value, (own) => -own);
      return yield* mapSeries(value, work, negatePoints);
    }
    case "rank":
      return yield* rankVector(program, yield* evaluateProgram(program.of, work), work);
    case "binary": {
      const left = yield* evaluateProgram(program.left, work);
      const right = yield* evaluateProgram(program.right, work);
      return yield* evaluateBinary(program, { left, right, work });
    }
    default:
      return program satisfies never;
  }
}

function* rankVector(ranking: PointRanking, vector: Value, { spend }: Work): Steps<Vector> {
  if (isScalar(vector)) throw new TypeError("a ranking requires a vector");
  if (vector.size > rankedSeriesMax) {
    const detail = `the expression ranks ${vector.size} series, more than ${rankedSeriesMax}; group by fewer labels`;
    throw invalidField("too_many_candidates", "query", detail);
  }
  spend(vector.size);
  const all = [...vector].sort(([, a], [, b]) => compareLabels(a.labels, b.labels));
  const series = all.map(([, one]) => one);
  const points = yield* rankPoints(series, ranking);
  const ranked = all.map(([key, { labels }], at) => [key, { labels, ...(points[at] as Points) }] as const);
  return new Map(ranked.filter(([, { present }]) => present.includes(1)));
}

function* evaluateBinary({ op, isBool }: BinaryProgram, { left, right, work }: Operands): Steps<Value> {
  if (isSetOp(op)) return yield* combineSets(op, { left, right, work });
  if (isScalar(left)) {
    if (isScalar(right)) return combineScalars(op, left, right);
    const constant = scalarPoints(left, work.count);
    return yield* mapSeries(right, work, (own) => combinePoints({ op, isBool, kept: "right" }, constant, own));
  }
  const constant = isScalar(right) ? scalarPoints(right, work.count) : undefined;
  return yield* mapSeries(left, work, (own, key) => {
    const other = constant ?? (right as Vector).get(key);
    return other && combinePoints({ op, isBool, kept: "left" }, own, other);
  });
}

function* combineSets(op: SetOp, { left, right, work }: Operands): Steps<Vector> {
  if (isScalar(left) || isScalar(right)) throw new TypeError(`${op} requires vectors`);
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

/** @throws TypeError for two series with the same labels, which no selector has */
function vectorOf(series: readonly ResultSeries[]): Vector {
  const present = series.filter((one) => one.present.includes(1));
  const vector = new Map(present.map((one) => [labelsKey(one.labels), one]));
  if (vector.size < present.length) throw new TypeError("a vector has two series with the same labels");
  return vector;
}

/** A series of a result. */
export interface ResultSeries extends Points {
  readonly labels: SelectorSeries["labels"];
}
