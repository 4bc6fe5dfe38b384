// PromQL as a tree, its printer, and the partial question for a peer. It does not decide what a query reads.
import type { Merge } from "../../../api/queries.ts";
import type { PartialAsk } from "../../../api/peers.ts";
import type { MatcherConfig } from "../../../crds/config.ts";
import type { RangeBoundary } from "../../stores/prometheus/probe-store.ts";

/**
 * The part of PromQL that the planner needs, as a tree. The printer escapes every name and value, so that no text of a
 * caller can become syntax.
 */
export type Vector =
  | (Ranged & { readonly kind: "over"; readonly fn: RangeFunction })
  | (Ranged & { readonly kind: "anchoredIncrease" })
  | {
      readonly kind: "aggregate";
      readonly op: Merge;
      readonly by: readonly string[];
      readonly of: Vector;
    }
  | HistogramPart
  | { readonly kind: "quantile"; readonly quantile: number; readonly of: Vector }
  | Covered
  | { readonly kind: "bound"; readonly of: Vector }
  | Points
  | Newest
  | PartialQuery;

/** The samples of a function over a range. */
interface Ranged {
  readonly of: Selector;
  readonly rangeMs: number;
  /** Time from the end of the range to that of the query. @default 0 */
  readonly offsetMs?: number;
}

/** Vectors at several times up to that of the query. The label {@link pointLabel} of a series is the index of its. */
interface Points {
  readonly kind: "points";
  readonly of: readonly { readonly vector: Vector; readonly offsetMs: number }[];
}

/** The sum or the number of the observations of native histograms. */
interface HistogramPart {
  readonly kind: "histogramPart";
  readonly fn: "histogram_sum" | "histogram_count";
  readonly of: Vector;
  /** Only the observations up to a threshold. @default all */
  readonly upTo?: number;
}

/** `of`, absent for each group whose `part` and `whole` differ by more than a share. */
export interface Covered {
  readonly kind: "covered";
  readonly of: Vector;
  readonly part: Vector;
  readonly whole: Vector;
  /** The labels of `whole` if `part` has more than these. @default both have the same labels */
  readonly wholeBy?: readonly string[];
  readonly tolerance: number;
}

/**
 * The label with the bound of a bucket in one spelling. Series of one histogram can spell a bound `1` and `1.0`. The
 * label `le` stays next to it, so that no two series of a target get equal labels.
 */
export const boundLabel = "heliograph_le";

/** The label with the index of a point. */
export const pointLabel = "heliograph_point";

/** The time of the newest sample that is not stale. */
export interface Newest {
  readonly kind: "timestamp";
  readonly of: Selector;
  /** Finds it over a range too, looking every `stepMs`. @default only at the time of the query */
  readonly within?: { readonly rangeMs: number; readonly stepMs: number };
}

/** A partial request to a peer, in place of a query. It prints as JSON and is sent to peers only. */
export interface PartialQuery {
  readonly kind: "question";
  readonly of: PartialAsk;
}

export type RangeFunction =
  | "sum_over_time"
  | "count_over_time"
  | "avg_over_time"
  | "min_over_time"
  | "max_over_time"
  | "increase";

export interface Selector {
  readonly name: string;
  readonly matchers: readonly Matcher[];
}

export interface Matcher {
  readonly label: string;
  readonly op: "=" | "!=" | "=~" | "!~";
  readonly value: string;
}

const matcherOps = { Equal: "=", NotEqual: "!=", Matches: "=~", NotMatches: "!~" } as const;

/** Converts a fixed matcher of the catalog. */
export function fixedMatcher({ label, op, value }: MatcherConfig): Matcher {
  return { label, op: matcherOps[op], value };
}

/** Matches series whose label has one of these values. An empty list matches no series. */
export function oneOf(label: string, values: readonly string[]): Matcher {
  const [only, ...others] = values;
  if (only !== undefined && others.length === 0) return { label, op: "=", value: only };
  // An empty alternation matches every series without the label. This class of characters is empty and matches none.
  if (only === undefined) return { label, op: "=~", value: String.raw`[^\x00-\x{10FFFF}]` };
  return { label, op: "=~", value: values.map(quoteRegex).join("|") };
}

/** Matches series by the values of a filter. An empty list matches every series with the label. */
export function filterMatcher(label: string, values: readonly string[]): Matcher {
  return values.length === 0 ? { label, op: "!=", value: "" } : oneOf(label, values);
}

/** Copies a tree with other ranges. Points keep theirs. */
export function withRanges(vector: Vector, changes: Partial<Pick<Ranged, "rangeMs" | "offsetMs">>): Vector {
  if ("rangeMs" in vector) return { ...vector, ...changes };
  if (vector.kind === "covered") {
    const [of, part, whole] = [vector.of, vector.part, vector.whole].map((own) => withRanges(own, changes));
    return { ...vector, of: of ?? vector.of, part: part ?? vector.part, whole: whole ?? vector.whole };
  }
  return vector.kind === "timestamp" || vector.kind === "question" || vector.kind === "points"
    ? vector
    : { ...vector, of: withRanges(vector.of, changes) };
}

/** Prints a tree for a store with this boundary. */
export function printVector(vector: Vector, boundary: RangeBoundary): string {
  if ("rangeMs" in vector) return printRanged(vector, boundary);
  switch (vector.kind) {
    case "aggregate":
      return `${vector.op} by(${printNames(vector.by)})(${printVector(vector.of, boundary)})`;
    case "histogramPart":
      return printHistogramPart(vector, boundary);
    case "covered":
      return printCovered(vector, boundary);
    case "bound":
      return `label_replace(${printVector(vector.of, boundary)},"${boundLabel}","$1","le","(.+?)([.]0)?")`;
    case "points":
      return printPoints(vector, boundary);
    case "question":
      return JSON.stringify(vector.of);
    case "quantile":
      return printQuantile(vector, boundary);
    case "timestamp":
      return printNewest(vector);
    default:
      return vector satisfies never;
  }
}

/** Series of different points have different labels, so that `or` loses none. */
function printPoints({ of }: Points, boundary: RangeBoundary): string {
  return of
    .map(({ vector, offsetMs }) => printVector(withRanges(vector, { offsetMs }), boundary))
    .map((printed, index) => `label_replace(${printed},"${pointLabel}","${index}","","")`)
    .join(" or ");
}

function printQuantile({ quantile, of }: Extract<Vector, { kind: "quantile" }>, boundary: RangeBoundary): string {
  if (of.kind === "question") return JSON.stringify({ ...of.of, quantile });
  return `histogram_quantile(${quantile},${printVector(of, boundary)})`;
}

/** The fraction of no observations is NaN, which the comparison leaves out. */
function printHistogramPart({ fn, of, upTo }: HistogramPart, boundary: RangeBoundary): string {
  const printed = printVector(of, boundary);
  const part = `${fn}(${printed})`;
  return upTo === undefined ? part : `histogram_fraction(-Inf,${upTo},${printed})*${part}>=0`;
}

function printNewest({ of, within }: Newest): string {
  const times = `timestamp(${printSelector(of)})`;
  return within === undefined
    ? `max(${times})`
    : `max(max_over_time(${times}[${within.rangeMs}ms:${within.stepMs}ms]))`;
}

function printCovered({ wholeBy, tolerance, ...vectors }: Covered, boundary: RangeBoundary): string {
  const [of, part, whole] = [vectors.of, vectors.part, vectors.whole].map((own) => printVector(own, boundary));
  const divided = wholeBy === undefined ? "/" : `/ on(${printNames(wholeBy)}) group_left()`;
  return `${of} unless abs(${part} ${divided} ${whole} - 1) > ${tolerance}`;
}

/** Prints the series whose exemplars are read. */
export function printExemplified(of: Selector | PartialQuery): string {
  return "kind" in of ? JSON.stringify(of.of) : printSelector(of);
}

/** Prints a selector. The metric name is a matcher, which takes any name; without one, a matcher selects the names. */
export function printSelector({ name, matchers }: Pick<Selector, "matchers"> & Partial<Selector>): string {
  const all: readonly Matcher[] = [
    ...(name === undefined ? [] : [{ label: "__name__", op: "=", value: name } as const]),
    ...matchers,
  ];
  return `{${all.map(({ label, op, value }) => `${printName(label)}${op}${quote(value)}`).join(",")}}`;
}

function printRanged(vector: Extract<Vector, Ranged>, boundary: RangeBoundary): string {
  const { of, rangeMs, offsetMs = 0 } = vector;
  const range = `${printSelector(of)}[${printRange(rangeMs, boundary)}]`;
  const offset = offsetMs === 0 ? "" : ` offset ${offsetMs}ms`;
  return vector.kind === "over" ? `${vector.fn}(${range}${offset})` : `increase(${range} anchored${offset})`;
}

/** Shortens a left-closed range by one millisecond, which excludes the sample at t − w. */
function printRange(rangeMs: number, boundary: RangeBoundary): string {
  return `${boundary === "LeftOpen" ? rangeMs : rangeMs - 1}ms`;
}

function printNames(names: readonly string[]): string {
  return names.map(printName).join(",");
}

/** Prints the name of a label. Prometheus 3 takes any name in quotes. */
export function printName(name: string): string {
  return /^[A-Za-z_]\w*$/u.test(name) ? name : quote(name);
}

/** Quotes a text for PromQL, which takes the escapes of Go. */
function quote(text: string): string {
  const escaped = text.replaceAll(/["\\\p{C}\p{Zl}\p{Zp}]/gu, (char) => {
    if (char === '"' || char === "\\") return `\\${char}`;
    return `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;
  });
  return `"${escaped}"`;
}

/** Escapes a text for RE2, so that it matches itself only. PromQL anchors the expression at both ends. */
function quoteRegex(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$]/gu, String.raw`\$&`);
}
