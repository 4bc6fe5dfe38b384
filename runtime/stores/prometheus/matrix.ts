import { StoreError } from "../store-error.ts";

/** Evenly spaced points of time: `startMs`, `startMs + stepMs`, …. */
export interface PointGrid {
  readonly startMs: number;
  readonly stepMs: number;
  readonly count: number;
}

/** Labels of a series as its store has them. */
export type StoreLabels = Readonly<Record<string, string>>;

/** Points of one series over a grid. An absent point differs from NaN: the response does not contain it. */
export interface Column {
  readonly values: Float64Array;
  /** 1 where the store returned a value. */
  readonly present: Uint8Array;
}

/** One series over a grid. */
export interface StoreSeries extends Column {
  readonly labels: StoreLabels;
}

/** One value of an instant query. */
export interface VectorSample {
  readonly labels: StoreLabels;
  readonly value: number;
}

/** One series of a matrix with undecoded points. */
interface MatrixEntry {
  readonly labels: StoreLabels;
  /** Pairs of seconds and number, or the index of their column; empty if the series has histograms only. */
  readonly values: readonly (readonly [seconds: number, text: string])[] | number;
  /** Pairs of seconds and native histogram; empty if the series has numbers only. */
  readonly histograms: readonly (readonly [seconds: number, histogram: unknown])[];
}

/**
 * Decodes the series in the `data` of a range query. Source: Prometheus HTTP API, "Range vectors".
 *
 * @param columns the points that `data` holds indexes of
 * @throws StoreError `malformed`
 */
export function decodeMatrix(data: unknown, grid: PointGrid, columns: readonly Column[] = []): readonly StoreSeries[] {
  return matrixEntries(data).flatMap(({ labels, values }): readonly StoreSeries[] => {
    const column = typeof values === "number" ? columns[values] : decodePairs(values, grid);
    if (column === undefined) throw new StoreError("malformed", "a matrix entry has no values");
    return column.present.includes(1) ? [{ labels, ...column }] : [];
  });
}

function decodePairs(pairs: readonly (readonly [seconds: number, text: string])[], grid: PointGrid): Column {
  const values = new Float64Array(grid.count);
  const present = new Uint8Array(grid.count);
  // By index: destructuring the pairs doubles the cost of this loop.
  for (const pair of pairs) {
    const index = pointIndex(pair[0], grid);
    values[index] = parseSample(pair[1]);
    present[index] = 1;
  }
  return { values, present };
}

/** Checks the entries in the `data` of a range query. @throws StoreError `malformed` */
function matrixEntries(data: unknown): readonly MatrixEntry[] {
  return resultOf(data, "matrix").map((entry) => {
    const { metric, values, histograms } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    const lists = [values, histograms].filter((list) => list !== undefined);
    const isReadable = lists.every((list) => Array.isArray(list) || typeof list === "number");
    if (typeof metric !== "object" || metric === null || lists.length === 0 || !isReadable)
      throw new StoreError("malformed", "a matrix entry has no metric or no values");
    return { labels: metric, values: values ?? [], histograms: histograms ?? [] } as MatrixEntry;
  });
}

/** Greatest distance of a point from its requested time, in milliseconds: stores write times with three decimals. */
const offGridMsMax = 1;

/** The index of the point at a time; -1 for a time that was not requested. */
export function indexAt(seconds: number, { startMs, stepMs, count }: PointGrid): number {
  const ms = seconds * 1_000;
  const index = Math.round((ms - startMs) / stepMs);
  // The epsilon is for the rounding of the product.
  const isOnGrid = Math.abs(ms - (startMs + index * stepMs)) <= offGridMsMax + 1e-3;
  return isOnGrid && index >= 0 && index < count ? index : -1;
}

/**
 * The index of a point in a grid.
 *
 * @throws StoreError `unsupported` for a time that was not requested; `malformed` for none
 */
function pointIndex(seconds: number, grid: PointGrid): number {
  const index = indexAt(seconds, grid);
  if (index !== -1) return index;
  if (!Number.isFinite(seconds)) throw new StoreError("malformed", "the response has a point without a time");
  throw new StoreError("unsupported", `the response has a point at ${seconds}, which was not requested`, {
    publicDetail: roundedDetail,
  });
}

const roundedDetail =
  "a store rounds the times of a query to its step, so that its values are those of other times; turn that off " +
  "(--no-query-range.align-range-with-step of Thanos' query frontend, align_queries_with_step of Mimir, or the same " +
  "of another cache), or begin at a multiple of the step";

/** The `data` of an instant query in the form of a range query over one point. @throws StoreError `malformed` */
export function matrixOfVector(data: unknown): unknown {
  const result = resultOf(data, "vector").map((entry) => {
    const { metric, value, histogram } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    return {
      metric,
      ...(value === undefined ? {} : { values: [value] }),
      ...(histogram === undefined ? {} : { histograms: [histogram] }),
    };
  });
  return { resultType: "matrix", result };
}

/** Decodes the numbers in the `data` of an instant query. @throws StoreError `malformed` */
export function decodeVector(data: unknown): readonly VectorSample[] {
  return resultOf(data, "vector").map((entry) => {
    const { metric, value } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof metric !== "object" || metric === null || !Array.isArray(value) || typeof value[1] !== "string")
      throw new StoreError("malformed", "a vector entry has no metric or no value");
    return { labels: metric as StoreLabels, value: parseSample(value[1]) };
  });
}

/** Parses a sample value in the spelling of Prometheus. */
export function parseSample(text: string): number {
  if (text === "+Inf") return Infinity;
  if (text === "-Inf") return -Infinity;
  return Number(text);
}

function resultOf(data: unknown, type: "matrix" | "vector"): readonly unknown[] {
  const { resultType, result } = (data ?? {}) as { readonly resultType?: unknown; readonly result?: unknown };
  if (resultType === type && Array.isArray(result)) return result;
  throw new StoreError("malformed", `the response is not a ${type}`);
}

/** One populated bucket of a native histogram. The zero bucket has bounds of both signs. */
export interface StoreBucket {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
}

/** A native histogram as its store returns it: without empty buckets, and without its schema. */
export interface StoreHistogram {
  readonly count: number;
  readonly sum: number;
  /** Ascending. */
  readonly buckets: readonly StoreBucket[];
}

/** One series of native histograms over a grid; undefined for a point without a histogram. */
export interface HistogramSeries {
  readonly labels: StoreLabels;
  readonly histograms: readonly (StoreHistogram | undefined)[];
}

/**
 * Decodes the native histograms in the `data` of a range query. Source: Prometheus HTTP API, "Native histograms".
 *
 * @throws StoreError `malformed`
 */
export function decodeHistograms(data: unknown, grid: PointGrid): readonly HistogramSeries[] {
  return matrixEntries(data)
    .filter(({ histograms }) => histograms.length > 0)
    .map(({ labels, histograms: pairs }) => {
      const histograms = Array.from<StoreHistogram | undefined>({ length: grid.count });
      for (const [seconds, histogram] of pairs) histograms[pointIndex(seconds, grid)] = decodeHistogram(histogram);
      return { labels, histograms };
    });
}

type BucketRow = readonly [boundaries: number, lower: string, upper: string, count: string];

function decodeHistogram(histogram: unknown): StoreHistogram {
  const { count, sum, buckets = [] } = (histogram ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof count !== "string" || typeof sum !== "string" || !Array.isArray(buckets))
    throw new StoreError("malformed", "a histogram has no count, no sum or no buckets");
  return {
    count: parseSample(count),
    sum: parseSample(sum),
    buckets: (buckets as readonly BucketRow[]).map(decodeBucket),
  };
}

function decodeBucket([, lower, upper, count]: BucketRow): StoreBucket {
  return { lower: parseSample(lower), upper: parseSample(upper), count: parseSample(count) };
}

/**
 * The classes of the warnings in a store's response, from the mildest to the gravest:
 *
 * | Class | Means | Whole | Cacheable |
 * | --- | --- | --- | --- |
 * | `none` | no warning, or one that concerns no value | yes | yes |
 * | `dropped` | the query left out samples of another kind; a repeated query does too | no | yes |
 * | `incomplete` | the store did not read some data; a repeated query can | no | no |
 */
export const warningClasses = ["none", "dropped", "incomplete"] as const;
export type WarningClass = (typeof warningClasses)[number];

/** Annotations of PromQL about samples that are left out. Source: Prometheus, `util/annotations`. */
const dropping = [
  "encountered a mix of histograms and floats",
  "vector contains a mix of",
  "ignored histogram",
  "incompatible bucket layout",
  "incompatible sample types",
];

/** Warnings about an empty result with no missing data. Source: Thanos, `pkg/store/proxy.go`. */
const harmless = ["No StoreAPIs matched for this query"];

/** The gravest class of the `warnings` in a response. */
export function classifyWarnings(warnings: unknown): WarningClass {
  if (!Array.isArray(warnings)) return "none";
  const classes = warnings.map((warning) => classOf(String(warning)));
  return gravest(classes);
}

/** The gravest of several classes; `none` without any. */
export function gravest(classes: readonly WarningClass[]): WarningClass {
  return warningClasses.findLast((one) => classes.includes(one)) ?? "none";
}

function classOf(warning: string): WarningClass {
  if (harmless.some((text) => warning.includes(text))) return "none";
  if (!/^PromQL (?:info|warning): /u.test(warning)) return "incomplete";
  return dropping.some((text) => warning.includes(text)) ? "dropped" : "none";
}
