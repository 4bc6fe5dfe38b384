// Bounded reading of YAML files. It knows no Kubernetes object.

import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

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
  /** Faults of the rejected documents. */
  readonly problems: readonly SourceProblem[];
}

/** Bounds of one YAML file, so that no input can exhaust the process. */
interface YamlBounds {
  readonly documentsMax: number;
  /** Values of one document after its aliases are expanded. */
  readonly valuesMax: number;
  readonly depthMax: number;
}

/** @default of {@link YamlBounds} */
const yamlBounds: YamlBounds = { documentsMax: 4096, valuesMax: 200_000, depthMax: 64 };

/** The fault of a document, and its offset in the text. */
interface YamlFault {
  readonly offset: number;
  readonly message: string;
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
  if (parsed.length > bounds.documentsMax)
    return { documents: [], problems: [problem(0, `more than ${bounds.documentsMax} documents`)] };
  const documents: YamlDocument[] = [];
  const problems: SourceProblem[] = [];
  for (const document of parsed) {
    const [error] = document.errors;
    const fault = error ? errorFault(error) : yamlFault(document.contents, bounds);
    if (fault !== undefined) problems.push(problem(fault.offset, fault.message));
    else if (!isEmpty(document)) documents.push(locatedDocument(document, text, lines));
  }
  return { documents, problems };
}

// The walk finds repeated keys in linear time; the parser's check compares every key with all others.
const parsing = { prettyErrors: false, uniqueKeys: false, logLevel: "silent" } as const;

/** Returns a message when the whole text cannot be parsed. */
function parseDocuments(text: string, lineCounter: LineCounter): readonly Document.Parsed[] | string {
  try {
    const parsed = parseAllDocuments(text, { ...parsing, lineCounter });
    return Array.isArray(parsed) ? parsed : [];
  } catch (error) {
    if (error instanceof RangeError) return "nested too deeply";
    throw error;
  }
}

/** The parser reports its own overflow as an error of the document. */
function errorFault({ pos, message }: Document.Parsed["errors"][number]): YamlFault {
  return { offset: pos[0], message: message.startsWith("Maximum call stack") ? "nested too deeply" : message };
}

function isEmpty({ contents }: Document.Parsed): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}

function locatedDocument(document: Document.Parsed, text: string, lines: LineCounter): YamlDocument {
  const [start, , end] = document.range;
  const first = document.contents?.range[0] ?? 0;
  // Nodes take many times the memory of their text, and few documents have problems: it is parsed again for lines.
  let parsed: WeakRef<Document.Parsed> | undefined;
  const nodes = (): Document.Parsed => {
    const known = parsed?.deref() ?? parseDocument(text.slice(start, end), parsing);
    if (known !== parsed?.deref()) parsed = new WeakRef(known);
    return known;
  };
  return {
    // The walk bounds the expansion; the library's bound would walk the document again for each alias.
    value: document.toJS({ maxAliasCount: -1 }) as unknown,
    lineOf: (field) => lines.linePos(field === "" ? first : start + offsetOf(nodes(), fieldSegments(field))).line,
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

/**
 * Finds the first fault of a parsed document: repeated or structured keys, growing aliases, deep nesting. It takes one
 * linear pass before any expansion. Undefined without a fault.
 */
function yamlFault(root: Node | null, bounds: YamlBounds): YamlFault | undefined {
  const walk = new Walk(bounds);
  walk.sizeOf(root, 0);
  return walk.fault;
}

class Walk {
  fault: YamlFault | undefined;
  private readonly bounds: YamlBounds;
  private readonly anchorSizes = new Map<string, number>();

  constructor(bounds: YamlBounds) {
    this.bounds = bounds;
  }

  /** Values below and including this node once aliases are expanded; 0 after a fault. */
  sizeOf(node: unknown, depth: number): number {
    if (this.fault !== undefined) return 0;
    if (isPair(node)) return this.sizeOf(node.key, depth) + this.sizeOf(node.value, depth);
    if (isAlias(node)) return this.aliasSize(node);
    const size = isCollection(node) ? this.collectionSize(node, depth) : 1;
    if (isCollection(node) || isScalar(node)) this.remember(node.anchor, size);
    return size;
  }

  private remember(anchor: string | undefined, size: number): void {
    if (anchor !== undefined) this.anchorSizes.set(anchor, size);
  }

  private aliasSize(alias: Alias): number {
    return this.anchorSizes.get(alias.source) ?? this.fail(alias, `*${alias.source} names no anchor before it`);
  }

  private collectionSize(node: YAMLMap | YAMLSeq, depth: number): number {
    if (depth >= this.bounds.depthMax) return this.fail(node, `nested more than ${this.bounds.depthMax} deep`);
    if (isMap(node)) this.checkKeys(node.items);
    let size = 1;
    for (const item of node.items) size += this.sizeOf(item, depth + 1);
    return size > this.bounds.valuesMax ? this.fail(node, `more than ${this.bounds.valuesMax} values`) : size;
  }

  private checkKeys(pairs: readonly Pair[]): void {
    const seen = new Set<string>();
    for (const { key } of pairs) {
      if (!isScalar(key)) this.fail(key, "a key must be a plain string");
      else if (seen.has(String(key.value))) this.fail(key, `the key ${JSON.stringify(key.value)} is repeated`);
      else seen.add(String(key.value));
    }
  }

  private fail(node: unknown, message: string): number {
    this.fault ??= { offset: (node as Partial<Node> | null)?.range?.[0] ?? 0, message };
    return 0;
  }
}
