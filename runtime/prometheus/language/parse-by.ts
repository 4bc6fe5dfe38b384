import { Fault, shorten } from "./fault.ts";
import type { TokenReader } from "./token-reader.ts";
import { isPlainGroupingLabel, isPlainLabel } from "./vocabulary.ts";

/** Labels, and the offset after their closing parenthesis. */
interface LabelList {
  readonly labels: readonly string[];
  readonly end: number;
}

/**
 * Reads the labels of an aggregation where they are next.
 *
 * @throws Fault where they are no list of labels, or those to leave out
 */
export function parseBy(reader: TokenReader): LabelList | undefined {
  const { start } = reader.next;
  if (reader.isAtKeyword("without")) {
    throw new Fault("without is not supported; name the labels to keep, as in by (component)", start);
  }
  if (!reader.isAtKeyword("by")) return undefined;
  reader.take();
  return parseLabels(reader);
}

/** Reads a list of labels in parentheses. @throws Fault where there is none */
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
    throw new Fault(`${shorten(text)} is no label without quotes`, start, edit);
  }
  reader.take();
  return text;
}
