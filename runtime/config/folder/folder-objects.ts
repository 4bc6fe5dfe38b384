import { apiVersion, type Resource } from "../../../crds/resource.ts";
import { validateResource, type FieldProblem } from "../../../crds/validate.ts";
import { readSecret, type SecretEntries } from "./secret-manifest.ts";
import type { SourceProblem, YamlDocument, YamlFile } from "../yaml/yaml-documents.ts";

/** A file of the folder, parsed. */
export interface FolderFile extends YamlFile {
  readonly name: string;
}

/** An object in force, and its place. */
interface FolderObject {
  readonly resource?: Resource;
  readonly secret?: SecretEntries;
  readonly file: string;
  readonly lineOf: (field: string) => number;
}

/** All objects of a folder by `Kind/namespace/name`. */
export interface FolderObjects {
  readonly objects: ReadonlyMap<string, FolderObject>;
  /** Faults of the files as they are now. */
  readonly problems: readonly SourceProblem[];
  /** Keys of objects that stay in force, since their present text is invalid. */
  readonly kept: readonly string[];
}

export const noObjects: FolderObjects = { objects: new Map(), problems: [], kept: [] };

/** One object and the lines of its fields. */
interface Placed {
  readonly value: unknown;
  readonly file: string;
  readonly lineOf: (field: string) => number;
}

/**
 * Reads the objects of files, in the given order. Like at an API server, an invalid object is refused and the one it
 * would replace stays in force. The objects of an unreadable file stay too. Of two objects with one name, the first is
 * used.
 */
export function readObjects(files: readonly FolderFile[], previous: FolderObjects): FolderObjects {
  const result = new ObjectResult(previous);
  for (const file of files) {
    for (const document of file.documents) result.add({ ...placed(file, document), value: document.value });
  }
  const broken = new Set(files.filter(({ problems }) => problems.length > 0).map(({ name }) => name));
  return result.finish(
    broken,
    files.flatMap(({ problems }) => problems),
  );
}

function placed({ name }: FolderFile, { lineOf }: YamlDocument): Omit<Placed, "value"> {
  return { file: name, lineOf };
}

/** `WebhookPartner/default/acme` */
export function objectKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

class ObjectResult {
  private readonly previous: FolderObjects;
  private readonly objects = new Map<string, FolderObject>();
  private readonly problems: SourceProblem[] = [];
  private readonly refused = new Set<string>();

  constructor(previous: FolderObjects) {
    this.previous = previous;
  }

  add(placedObject: Placed): void {
    const { value } = placedObject;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.report(placedObject, [{ field: "", reason: "WrongType", message: "is not an object" }]);
      return;
    }
    const type = `${text(value, "apiVersion")}/${text(value, "kind")}`;
    if (type === "v1/List") this.addItems(placedObject, Reflect.get(value, "items"));
    else if (type === "v1/Secret") this.addSecret(placedObject, value);
    else if (type !== "v1/ConfigMap") this.addResource(placedObject, value);
  }

  finish(broken: ReadonlySet<string>, yamlProblems: readonly SourceProblem[]): FolderObjects {
    const kept = [...this.previous.objects].filter(
      ([key, { file }]) => !this.objects.has(key) && (broken.has(file) || this.refused.has(key)),
    );
    return {
      objects: new Map([...this.objects, ...kept]),
      problems: [...yamlProblems, ...this.problems],
      kept: kept.map(([key]) => key),
    };
  }

  private addItems(list: Placed, items: unknown): void {
    if (!Array.isArray(items)) {
      this.report(list, [{ field: "items", reason: "WrongType", message: "must be a list" }]);
      return;
    }
    for (const [index, value] of items.entries()) {
      const prefix = `items[${index}]`;
      this.add({
        value,
        file: list.file,
        lineOf: (field) => list.lineOf(field === "" ? prefix : `${prefix}.${field}`),
      });
    }
  }

  private addSecret(placedObject: Placed, value: object): void {
    const { entries, problems } = readSecret(value);
    const faults = [...nameProblems(value), ...problems];
    if (entries !== undefined && faults.length === 0) this.store(placedObject, value, { secret: entries });
    else this.refuse(placedObject, value, faults);
  }

  private addResource(placedObject: Placed, value: object): void {
    const old = this.previous.objects.get(keyOf(value))?.resource;
    const { resource, problems } = validateResource(value, old);
    if (resource === undefined) this.refuse(placedObject, value, unknownType(value) ?? problems);
    else this.store(placedObject, resource, { resource });
  }

  private store(at: Placed, value: object, content: Pick<FolderObject, "resource" | "secret">): void {
    const key = keyOf(value);
    const first = this.objects.get(key);
    if (first === undefined) this.objects.set(key, { ...content, file: at.file, lineOf: at.lineOf });
    else {
      const message = `${key} is already defined in ${first.file}:${first.lineOf("")}; that definition is used`;
      this.report(at, [{ field: "metadata.name", reason: "Duplicate", message }]);
    }
  }

  private refuse(at: Placed, value: object, problems: readonly FieldProblem[]): void {
    this.refused.add(keyOf(value));
    this.report(at, problems);
  }

  private report({ file, lineOf }: Placed, problems: readonly FieldProblem[]): void {
    this.problems.push(...problems.map((problem) => ({ ...problem, file, line: lineOf(problem.field) })));
  }
}

/** Reports an unknown apiVersion; undefined for a known one. */
function unknownType(value: object): readonly FieldProblem[] | undefined {
  const version = text(value, "apiVersion");
  if (version === apiVersion) return undefined;
  const message = `${version === "" ? "no apiVersion" : version} with kind ${text(value, "kind")} is not known here`;
  return [{ field: "apiVersion", reason: "NotSupported", message }];
}

function nameProblems(value: object): readonly FieldProblem[] {
  const name = text(metadataOf(value), "name");
  return name === "" ? [{ field: "metadata.name", reason: "Required", message: "is required" }] : [];
}

function keyOf(value: object): string {
  const metadata = metadataOf(value);
  return objectKey(text(value, "kind"), text(metadata, "namespace") || "default", text(metadata, "name"));
}

function metadataOf(value: object): object {
  const metadata: unknown = Reflect.get(value, "metadata");
  return typeof metadata === "object" && metadata !== null ? metadata : {};
}

function text(value: object, field: string): string {
  const member: unknown = Reflect.get(value, field);
  return typeof member === "string" ? member : "";
}
