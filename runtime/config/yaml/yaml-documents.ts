// Bounded reading of YAML files. It knows no Kubernetes object.
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseAllDocuments } from "yaml";
import type { Document, Node } from "yaml";
import { yamlBounds, yamlFault, type YamlBounds } from "./yaml-bounds.ts";

/** One fault of a configuration file. */
export interface SourceProblem {
  /** Name of the file as given. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Path of the field, for example `spec.metrics[3].id`; empty when no single field is at fault. */
  readonly field: string;
  /** One CamelCase word for programs. */
  readonly reason: string;
  readonly message: string;
}

/** One document of a YAML file: plain values and the lines of their fields. */
export interface YamlDocument {
  readonly value: unknown;
  /** Line of the field, or of its nearest ancestor in the text. Counted from 1. */
  readonly lineOf: (field: string) => number;
}

export interface YamlFile {
  readonly documents: readonly YamlDocument[];
  /** Faults of the refused documents. */
  readonly problems: readonly SourceProblem[];
}

/**
 * Reads every document of a YAML (or JSON) text. Faulty and empty documents are left out. Never throws.
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

/** Returns a message when the whole text cannot be parsed. */
function parseDocuments(text: string, lineCounter: LineCounter): readonly Document.Parsed[] | string {
  try {
    // The walk finds repeated keys in linear time; the parser's check compares every key with all others.
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
    // The walk bounds the expansion; the library's bound would walk the document again for each alias.
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
  /** Number of path segments that name the child: several when its key has dots, like `tls.crt`. */
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
