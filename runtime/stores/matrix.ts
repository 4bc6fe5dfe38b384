import { StoreError } from "./store-error.ts";

/** Evenly spaced points of time: `startMs`, `startMs + stepMs`, …. */
export interface PointGrid {
  readonly startMs: number;
  readonly stepMs: number;
  readonly count: number;
}

/** One series over a grid. A point that is not present was not in the answer, which is not the same as NaN. */
export interface StoreSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly values: Float64Array;
  /** 1 where the store gave a value. */
  readonly present: Uint8Array;
}

interface MatrixEntry {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

/**
 * The series of a range query's `data`. Source: Prometheus HTTP API, "Range vectors".
 *
 * @throws StoreError `malformed`
 */
export function decodeMatrix(data: unknown, grid: PointGrid): readonly StoreSeries[] {
  return resultOf(data, "matrix").map((entry) => decodeSeries(entry as Partial<MatrixEntry> | null, grid));
}

/**
 * The value of an instant query that answers at most one series; undefined when it answers none.
 *
 * @throws StoreError `malformed`
 */
export function decodeSingle(data: unknown): number | undefined {
  const [entry] = resultOf(data, "vector");
  if (entry === undefined) return undefined;
  const value: unknown = (entry as { readonly value?: unknown }).value;
  if (Array.isArray(value) && typeof value[1] === "string") return parseSample(value[1]);
  throw new StoreError("malformed", "a vector entry has no value");
}

/** A sample value as Prometheus writes it. */
export function parseSample(text: string): number {
  if (text === "+Inf") return Infinity;
  if (text === "-Inf") return -Infinity;
  return Number(text);
}

function resultOf(data: unknown, type: "matrix" | "vector"): readonly unknown[] {
  const { resultType, result } = (data ?? {}) as { readonly resultType?: unknown; readonly result?: unknown };
  if (resultType === type && Array.isArray(result)) return result;
  throw new StoreError("malformed", `the answer is no ${type}`);
}

function decodeSeries(entry: Partial<MatrixEntry> | null, grid: PointGrid): StoreSeries {
  const { metric, values: pairs } = entry ?? {};
  if (typeof metric !== "object" || !Array.isArray(pairs)) {
    throw new StoreError("malformed", "a matrix entry has no metric or no values");
  }
  const values = new Float64Array(grid.count);
  const present = new Uint8Array(grid.count);
  for (const [seconds, text] of pairs as MatrixEntry["values"]) {
    const index = Math.round((seconds * 1_000 - grid.startMs) / grid.stepMs);
    if (!(index >= 0 && index < grid.count)) throw new StoreError("malformed", "a point lies outside of what was asked");
    values[index] = parseSample(text);
    present[index] = 1;
  }
  return { labels: metric, values, present };
}
