import { LineCounter, isAlias, isMap, isScalar, isSeq, parseAllDocuments } from "yaml";
import type { Document, Node } from "yaml";
import { yamlBounds, yamlFault, type YamlBounds } from "./yaml-bounds.ts";

/** One thing wrong with a configuration file, in words for the person who wrote it. */
export interface SourceProblem {
  /** File as it was named to the reader. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Path of the field, for example `spec.metrics[3].id`; empty when no single field is at fault. */
  readonly field: string;
  /** One CamelCase word that a program can decide by. */
  readonly reason: string;
  readonly message: string;
}

/** One document of a YAML file: plain values that know their lines. */
export interface YamlDocument {
  readonly value: unknown;
  /** Line of the field, or of its nearest ancestor that is written down. Counted from 1. */
  readonly lineOf: (field: string) => number;
}

export interface YamlFile {
  readonly documents: readonly YamlDocument[];
  /** What kept documents out; empty when every document was read. */
  readonly problems: readonly SourceProblem[];
}

/**
 * Reads every document of a YAML (or JSON) text. Documents with problems are left out; empty ones too. Never throws.
 * @param bounds default {@link yamlBounds}
 */
export function readYaml(file: string, text: string, bounds: YamlBounds = yamlBounds): YamlFile {
  const lines = new LineCounter();
  const problem = (offset: number, message: string): SourceProblem => ({
    file,
    line: lines.linePos(offset).line,
    field: "",
    reason: "InvalidYaml",
    message,
  });
  const parsed = parseDocuments(text, lines);
  if (typeof parsed === "string") return { documents: [], problems: [problem(0, parsed)] };
  if (parsed.length > bounds.documentsMax) {
    return { documents: [], problems: [problem(0, `more than ${bounds.documentsMax} documents`)] };
  }
  const documents: YamlDocument[] = [];
  const problems: SourceProblem[] = [];
  for (const document of parsed) {
    const [error] = document.errors;
    const fault = error ? { offset: error.pos[0], message: error.message } : yamlFault(document.contents, bounds);
    if (fault !== undefined) problems.push(problem(fault.offset, fault.message));
    else if (!isEmpty(document)) documents.push(locatedDocument(document, lines));
  }
  return { documents, problems };
}

/** A string says why the whole text cannot be parsed. */
function parseDocuments(text: string, lineCounter: LineCounter): readonly Document.Parsed[] | string {
  try {
    // Repeated keys are found by the walk in linear time; the parser's own check compares every key with all others.
    const parsed = parseAllDocuments(text, { lineCounter, prettyErrors: false, uniqueKeys: false, logLevel: "silent" });
    return Array.isArray(parsed) ? parsed : [];
  } catch (error) {
    if (error instanceof RangeError) return "nested too deeply";
    throw error;
  }
}

function isEmpty({ contents }: Document.Parsed): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}

function locatedDocument(document: Document.Parsed, lines: LineCounter): YamlDocument {
  return {
    // Expansion is bounded by the walk; the library's own bound walks the document again for each alias.
    value: document.toJS({ maxAliasCount: -1 }) as unknown,
    lineOf: (field) => lines.linePos(offsetOf(document, fieldSegments(field))).line,
  };
}

/** `spec.metrics[3].id` → spec, metrics, 3, id. */
function fieldSegments(field: string): readonly string[] {
  return field.split(/[.[\]]+/u).filter((segment) => segment !== "");
}

function offsetOf(document: Document.Parsed, segments: readonly string[]): number {
  let node: unknown = document.contents;
  let offset = document.contents?.range[0] ?? 0;
  let rest = segments;
  while (rest.length > 0) {
    const step = childOf(isAlias(node) ? node.resolve(document) : node, rest);
    if (step === undefined) return offset;
    offset = step.offset ?? offset;
    node = step.value;
    rest = rest.slice(step.taken);
  }
  return offset;
}

interface Step {
  readonly offset: number | undefined;
  readonly value: unknown;
  /** Segments of the path that name the child: several when its key holds dots, as `tls.crt` does. */
  readonly taken: number;
}

function childOf(node: unknown, segments: readonly string[]): Step | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(segments[0])];
    return item === undefined ? undefined : { offset: (item as Node).range?.[0], value: item, taken: 1 };
  }
  if (!isMap(node)) return undefined;
  for (let taken = 1; taken <= segments.length; taken += 1) {
    const name = segments.slice(0, taken).join(".");
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
    if (pair !== undefined) return { offset: (pair.key as Node).range?.[0], value: pair.value, taken };
  }
  return undefined;
}
