import type { Expression, LabelMatcher, Selector, Span } from "./expression.ts";
import { anyValue, guessAlternatives, readAlternatives, writeAlternatives } from "./format-expression.ts";
import { durationMsMax, Fault, shorten, writeString } from "./literals.ts";
import type { Token, TokenReader } from "./token-reader.ts";
import { isPlainGroupingLabel, isPlainLabel, isRanking, isReserved } from "./vocabulary.ts";

const nameLabel = "__name__";
const windowPrecisionMs = 1e-6;

/**
 * Reads a selector: a metric, matchers in braces, and a window in brackets.
 *
 * @param metric the name before the braces, which is taken already
 * @throws Fault if it is not in the subset
 */
export function parseSelector(reader: TokenReader, metric: Token | undefined): Selector {
  const start = metric?.start ?? reader.next.start;
  if (metric !== undefined && isReserved(metric.text)) throw reservedMetric(metric);
  let end = metric?.end ?? start;
  let written: readonly LabelMatcher[] = [];
  if (reader.isAt("{")) ({ matchers: written, end } = parseMatchers(reader));
  const matchers = written.filter(({ label }) => label !== nameLabel);
  const name = nameOf(metric, written, start);
  rejectDuplicates(matchers);
  const { end: after = end, ...times } = parseTimes(reader);
  return { kind: "selector", metric: name, matchers, ...times, span: { start, end: after } };
}

/** Reads the range and the offset of a selector. */
function parseTimes(reader: TokenReader): Pick<Selector, "rangeMs" | "offsetMs"> & { readonly end?: number } {
  const range = reader.isAt("[") ? parseWindow(reader) : {};
  return { ...range, ...parseOffset(reader) };
}

/** Reads the offset of a selector; undefined without one. @throws Fault for one that is not a number of seconds */
function parseOffset(reader: TokenReader): { readonly offsetMs: number; readonly end: number } | undefined {
  if (!reader.isAtKeyword("offset")) return undefined;
  reader.take();
  const length = reader.next;
  if (reader.isAt("-")) throw new Fault("a negative offset reads the future, which is not supported", length.start);
  if (length.kind !== "number") throw reader.unexpected("a duration such as 1d");
  reader.take();
  const ms = Math.round(length.value * 1_000);
  if (ms % 1_000 === 0 && ms >= 0 && ms <= durationMsMax) return { offsetMs: ms, end: length.end };
  const written = shorten(reader.text.slice(length.start, length.end));
  throw new Fault(`the offset ${written} is not a whole number of seconds`, length.start);
}

function reservedMetric({ text, start, end }: Token): Fault {
  const edit = { start, end, text: `{${nameLabel}=${writeString(text)}}` };
  return new Fault(`${text} is a keyword; write a metric with this name in braces`, start, edit);
}

function nameOf(metric: Token | undefined, matchers: readonly LabelMatcher[], start: number): string {
  const names = matchers.filter(({ label }) => label === nameLabel);
  const [first, second] = names;
  const extra = metric === undefined ? second : first;
  if (extra !== undefined) throw new Fault("the selector has the metric name twice", extra.span.start);
  const name = metric?.text ?? first?.values[0] ?? "";
  if (name === "") throw new Fault("the selector has no metric name", start);
  if (first?.op === "=~") {
    const edit = { ...first.span, text: `${nameLabel}=${writeString(name)}` };
    throw new Fault("a selector must select a metric by name with =", first.span.start, edit);
  }
  return name;
}

function rejectDuplicates(matchers: readonly LabelMatcher[]): void {
  const labels = new Set<string>();
  for (const { label, span } of matchers) {
    if (labels.has(label)) throw new Fault(`the label ${shorten(label)} has two matchers; use one`, span.start);
    labels.add(label);
  }
}

function parseMatchers(reader: TokenReader): { readonly matchers: readonly LabelMatcher[]; readonly end: number } {
  reader.expect("{");
  const matchers: LabelMatcher[] = [];
  while (!reader.isAt("}")) {
    matchers.push(parseMatcher(reader));
    if (!reader.accept(",")) break;
  }
  return { matchers, end: reader.expect("}").end };
}

function parseMatcher(reader: TokenReader): LabelMatcher {
  const label = reader.next;
  if (label.kind !== "string" && !(label.kind === "name" && isPlainLabel(label.text)))
    throw reader.unexpected('a label or "}"');
  reader.take();
  const op = reader.next;
  const isNameAlone = label.kind === "string" && (reader.isAt(",") || reader.isAt("}"));
  if (isNameAlone) {
    const { start, end } = label;
    return { label: nameLabel, op: "=", values: [nonEmpty(label)], span: { start, end } };
  }
  const isOperator = op.kind === "symbol" && ["=", "=~", "!=", "!~"].includes(op.text);
  if (!isOperator) throw reader.unexpected('"=" or "=~"');
  reader.take();
  const value = reader.next;
  if (value.kind !== "string") throw reader.unexpected("a value in quotes");
  reader.take();
  return comparedTo(reader, { label, op, value });
}

interface WrittenMatcher {
  readonly label: Token;
  readonly op: Token;
  readonly value: Token;
}

/** A matcher of three parts. @throws Fault for one whose values are not known */
function comparedTo(reader: TokenReader, { label, op, value }: WrittenMatcher): LabelMatcher {
  const name = nonEmpty(label);
  const span = { start: label.start, end: value.end };
  if (op.text === "=")
    return { label: name, op: "=", values: [name === nameLabel ? nonEmpty(value) : value.text], span };
  if (op.text === "=~") return { label: name, op: "=~", values: alternativesOf(reader, label, value, span), span };
  if (op.text === "!=" && value.text === "" && name !== nameLabel) return { label: name, op: "!=", values: [], span };
  throw new Fault(`the matcher ${op.text} is not supported; list the values to keep, as in =~"a|b"`, op.start);
}

function nonEmpty({ kind, text, start }: Token): string {
  if (text !== "" || kind !== "string") return text;
  throw new Fault("an empty string is no name", start);
}

/** The values of a regular expression, or its rejection. */
function alternativesOf(reader: TokenReader, label: Token, value: Token, span: Span): readonly string[] {
  const pattern = value.text;
  if (pattern === anyValue) return [];
  const values = readAlternatives(pattern);
  if (values !== undefined) return values;
  if (pattern === ".*") {
    const after = /^\s*,?\s*/u.exec(reader.text.slice(span.end))?.[0] ?? "";
    const edit = { start: span.start, end: span.end + after.length, text: "" };
    throw new Fault(`=~".*" matches every value; remove the matcher of ${shorten(label.text)}`, value.start, edit);
  }
  const guess = guessAlternatives(pattern);
  const { start, end } = value;
  const edit = guess === undefined ? undefined : { start, end, text: writeString(writeAlternatives(guess)) };
  const problem = `${shorten(writeString(pattern))} is not a list of values`;
  throw new Fault(`${problem}; write it as "a|b" with a backslash before special characters`, start, edit);
}

function parseWindow(reader: TokenReader): { readonly rangeMs: number; readonly end: number } {
  reader.expect("[");
  const length = reader.next;
  if (length.kind !== "number") throw reader.unexpected("a duration such as 5m");
  reader.take();
  if (reader.next.kind === "name" && reader.next.text.startsWith(":")) throw subquery(reader, length);
  const { end } = reader.expect("]");
  return { rangeMs: windowMs(reader, length), end };
}

/** The milliseconds of a duration. @throws Fault for a fraction of one, and beyond the longest */
export function windowMs(reader: TokenReader, { value, start, end }: Token): number {
  const ms = Math.round(value * 1_000);
  const isWhole = Math.abs(ms - value * 1_000) < windowPrecisionMs;
  if (isWhole && ms >= 1 && ms <= durationMsMax) return ms;
  const written = shorten(reader.text.slice(start, end));
  throw new Fault(`the range ${written} is not a whole number of milliseconds from 1ms to 292y`, start);
}

/** The rejection of a window with steps of its own. Over a plain selector the window alone has the same meaning. */
function subquery(reader: TokenReader, length: Token): Fault {
  const { text } = reader;
  const close = text.indexOf("]", length.end);
  const edit = close < 0 ? undefined : { start: length.end, end: close, text: "" };
  return new Fault("a subquery of a metric is not supported; remove the step", reader.next.start, edit);
}

/** Labels, and the offset after their closing parenthesis. */
interface LabelList {
  readonly labels: readonly string[];
  readonly end: number;
}

/**
 * Reads the labels of an aggregation where they are next.
 *
 * @throws Fault if they are not a list of labels, or are the labels to exclude
 */
export function parseBy(reader: TokenReader): LabelList | undefined {
  const { start } = reader.next;
  if (reader.isAtKeyword("without"))
    throw new Fault("without is not supported; list the labels to keep, as in by (component)", start);
  if (!reader.isAtKeyword("by")) return undefined;
  reader.take();
  return parseLabels(reader);
}

/** Reads a list of labels in parentheses. @throws Fault if there is no list */
export function parseLabels(reader: TokenReader): LabelList {
  reader.expect("(");
  const labels: string[] = [];
  while (!reader.isAt(")")) {
    labels.push(parseLabel(reader));
    if (!reader.accept(",")) break;
  }
  return { labels, end: reader.expect(")").end };
}

function parseLabel(reader: TokenReader): string {
  const { kind, text, start, end } = reader.next;
  if (kind !== "name" && (kind !== "string" || text === "")) throw reader.unexpected("a label");
  if (kind === "name" && !isPlainGroupingLabel(text)) {
    const edit = isPlainLabel(text) ? { start, end, text: JSON.stringify(text) } : undefined;
    throw new Fault(`${shorten(text)} is not a valid label; quote it`, start, edit);
  }
  reader.take();
  return text;
}

interface AggregateParts {
  readonly args: readonly Expression[];
  readonly by: readonly string[] | undefined;
  readonly end: number;
}

/** An aggregation or a ranking of its parts. @throws Fault for parts that it does not take */
export function aggregateOf({ start }: Token, op: string, { args, by, end }: AggregateParts): Expression {
  const [of, second] = args;
  const span = { start, end };
  if (isRanking(op)) {
    if (by === undefined) return { kind: "call", fn: op, args, span };
    throw new Fault(`${op} by (…) is not supported; ${op} ranks all series of its argument`, start);
  }
  if (of === undefined) throw new Fault(`${op} has nothing to aggregate`, start);
  if (second !== undefined) throw new Fault(`${op} requires exactly one argument`, second.span.start);
  return { kind: "aggregate", op, by, of, span };
}
