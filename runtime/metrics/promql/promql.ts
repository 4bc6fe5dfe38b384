import type { MatcherConfig } from "../../../crds/config.ts";
import type { PartialQuestion } from "./partial-question.ts";
import type { RangeBoundary } from "../../stores/prometheus/probe.ts";

/**
 * The part of PromQL that the planner needs, as a tree. Text exists only once the tree is printed, and every name and
 * value in it is escaped on the way: what a caller writes can never become syntax.
 */
export type Vector =
  | { readonly kind: "over"; readonly fn: RangeFunction; readonly of: Selector; readonly rangeMs: number }
  | { readonly kind: "anchoredIncrease"; readonly of: Selector; readonly rangeMs: number }
  | {
      readonly kind: "aggregate";
      readonly op: "sum" | "min" | "max";
      readonly by: readonly string[];
      readonly of: Vector;
    }
  | { readonly kind: "histogramPart"; readonly fn: "histogram_sum" | "histogram_count"; readonly of: Vector }
  | { readonly kind: "quantile"; readonly quantile: number; readonly of: Vector }
  | { readonly kind: "timestamp"; readonly of: Selector }
  | Question;

/** What a peer is asked in place of a query; its text is JSON, and no store sees it. */
export interface Question {
  readonly kind: "question";
  readonly of: PartialQuestion;
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

/** A fixed matcher of the catalog. */
export function fixedMatcher({ label, op, value }: MatcherConfig): Matcher {
  return { label, op: matcherOps[op], value };
}

/** A label that has exactly one of these values. An empty list matches no series at all. */
export function oneOf(label: string, values: readonly string[]): Matcher {
  const [only, ...others] = values;
  if (only !== undefined && others.length === 0) return { label, op: "=", value: only };
  // An empty alternation would match every series without the label; this class of characters has no member.
  if (only === undefined) return { label, op: "=~", value: String.raw`[^\x00-\x{10FFFF}]` };
  return { label, op: "=~", value: values.map(quoteRegex).join("|") };
}

/** The same over ranges of another width. */
export function overWidth(vector: Vector, rangeMs: number): Vector {
  if ("rangeMs" in vector) return { ...vector, rangeMs };
  return vector.kind === "timestamp" || vector.kind === "question"
    ? vector
    : { ...vector, of: overWidth(vector.of, rangeMs) };
}

/** Prints a tree. `boundary` is that of the store it is for. */
export function printVector(vector: Vector, boundary: RangeBoundary): string {
  switch (vector.kind) {
    case "over":
      return `${vector.fn}(${printSelector(vector.of)}[${printRange(vector.rangeMs, boundary)}])`;
    case "anchoredIncrease":
      return `increase(${printSelector(vector.of)}[${printRange(vector.rangeMs, boundary)}] anchored)`;
    case "aggregate":
      return `${vector.op} by(${vector.by.map(printName).join(",")})(${printVector(vector.of, boundary)})`;
    case "histogramPart":
      return `${vector.fn}(${printVector(vector.of, boundary)})`;
    case "question":
      return JSON.stringify(vector.of);
    case "quantile":
      if (vector.of.kind === "question") return JSON.stringify({ ...vector.of.of, quantile: vector.quantile });
      return `histogram_quantile(${vector.quantile},${printVector(vector.of, boundary)})`;
    case "timestamp":
      return `max(timestamp(${printSelector(vector.of)}))`;
    default:
      return vector satisfies never;
  }
}

/** Prints what exemplars are asked of. */
export function printExemplified(of: Selector | Question): string {
  return "kind" in of ? JSON.stringify(of.of) : printSelector(of);
}

/** Prints a selector: the metric name as a matcher too, since that spelling takes any name in any version. */
function printSelector({ name, matchers }: Selector): string {
  const all: readonly Matcher[] = [{ label: "__name__", op: "=", value: name }, ...matchers];
  return `{${all.map(({ label, op, value }) => `${printName(label)}${op}${quote(value)}`).join(",")}}`;
}

/** A millisecond less excludes the sample at t − w: timestamps are whole milliseconds. */
function printRange(rangeMs: number, boundary: RangeBoundary): string {
  return `${boundary === "LeftOpen" ? rangeMs : rangeMs - 1}ms`;
}

function printName(name: string): string {
  return /^[A-Za-z_]\w*$/u.test(name) ? name : quote(name);
}

/** A double-quoted string of PromQL, which takes Go's escapes. */
function quote(text: string): string {
  const escaped = text.replaceAll(/["\\\p{C}\p{Zl}\p{Zp}]/gu, (char) => {
    if (char === '"' || char === "\\") return `\\${char}`;
    return `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;
  });
  return `"${escaped}"`;
}

/** A text that an RE2 expression matches as it is; PromQL anchors the whole expression at both ends. */
function quoteRegex(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$]/gu, String.raw`\$&`);
}
