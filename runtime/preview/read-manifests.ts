import { setImmediate } from "node:timers/promises";
import type { FieldError } from "../errors/refusal.ts";
import { readYaml } from "../config/yaml/yaml-documents.ts";

/** Objects of a YAML text, each with the line on which it begins and the line of each of its fields. */
export interface Manifests {
  readonly objects: readonly Manifest[];
  /** Documents that cannot be read. */
  readonly problems: readonly FieldError[];
}

/** One object of a text. */
interface Manifest {
  readonly value: unknown;
  /** Line of a field such as `spec.class`, counted from 1. */
  readonly lineOf: (field: string) => number;
}

/** Longest single document, in characters. Parsing it takes about a quarter of a second, and others wait so long. */
const documentLengthMax = 131_072;
/** Begins a document, also inside of a block of text. Source: YAML 1.2.2 §9.1.2. */
const documentStart = /^---(?=\s|$)/mu;

/** Reads the objects of a YAML or JSON text as the commands do. The wait between documents lets others proceed. */
export async function readManifests(text: string): Promise<Manifests> {
  const objects: Manifest[] = [];
  const problems: FieldError[] = [];
  let line = 0;
  for (const document of splitDocuments(text)) {
    const before = line;
    line += document.split("\n").length - 1;
    if (document.trim() === "") continue;
    if (document.length > documentLengthMax) {
      problems.push(manifestProblem(before + 1, `the document is longer than ${documentLengthMax} characters`));
      continue;
    }
    await setImmediate();
    const { documents, problems: found } = readYaml("manifests", document);
    problems.push(...found.map((one) => manifestProblem(before + one.line, one.message)));
    for (const { value, lineOf } of documents) {
      objects.push(...itemsOf({ value, lineOf: (field) => before + lineOf(field) }));
    }
  }
  return { objects, problems };
}

/** The problem of a text at a line. */
export function manifestProblem(line: number, message: string): FieldError {
  return { field: "manifests", code: "invalid", detail: `line ${line}: ${message}` };
}

/** Parts that give the text again when they are joined; each holds the marker before its document. */
function splitDocuments(text: string): readonly string[] {
  return text.split(new RegExp(`(?=${documentStart.source})`, "mu"));
}

/** The items of a `v1/List`, as `kubectl get -o yaml` writes it; else the object itself. */
function itemsOf(manifest: Manifest): readonly Manifest[] {
  const { value, lineOf } = manifest;
  if (typeof value !== "object" || value === null) return [manifest];
  const items: unknown = Reflect.get(value, "items");
  if (Reflect.get(value, "kind") !== "List" || !Array.isArray(items)) return [manifest];
  return items.map((item: unknown, index) => {
    const prefix = `items[${index}]`;
    return { value: item, lineOf: (field) => lineOf(field === "" ? prefix : `${prefix}.${field}`) };
  });
}
