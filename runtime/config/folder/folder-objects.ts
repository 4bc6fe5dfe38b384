import { uidOf } from "../../../crds/compile/origin.ts";
import type { NotAppliedPartner } from "../../../crds/config.ts";
import { apiVersion, type Kind, type Resource } from "../../../crds/resource.ts";
import { kinds } from "../../../crds/types/schemas.ts";
import { validateResource, type FieldProblem } from "../../../crds/validate.ts";
import { readSecret, type SecretEntries } from "./secret-manifest.ts";
import type { SourceProblem, YamlFile } from "../yaml/yaml-documents.ts";

/** A file of the folder, parsed. */
export interface FolderFile extends YamlFile {
  readonly name: string;
}

/** An object in force, and its place. */
export interface FolderObject {
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
  /** Objects of our kinds whose present text is invalid or cannot be read. */
  readonly rejected: readonly RejectedObject[];
  /** True when a file or a document cannot be read as an object: it may define further objects. */
  readonly isPartial: boolean;
}

/** An object that is not applied as its file declares it. */
export interface RejectedObject extends Required<NotAppliedPartner> {
  readonly kind: Kind;
  readonly file: string;
}

export const noObjects: FolderObjects = { objects: new Map(), problems: [], kept: [], rejected: [], isPartial: false };

/** One object and the lines of its fields. */
interface Placed {
  readonly value: unknown;
  readonly file: string;
  readonly lineOf: (field: string) => number;
}

/**
 * Reads the objects of files, in the given order. Like at an API server, an invalid object is rejected and the one it
 * would replace stays in force. The objects of an unreadable file stay too, and those of a file with a document that
 * may be any of them. Of two objects with one name, the first is used.
 */
export function readObjects(files: readonly FolderFile[], previous: FolderObjects): FolderObjects {
  const result = new ObjectResult(previous);
  for (const { name, documents } of files)
    for (const { value, lineOf } of documents) result.add({ value, file: name, lineOf });
  return result.finish(files.flatMap(({ problems }) => problems));
}

/** `WebhookPartner/default/acme` */
export function objectKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** Contents of valid objects by their values, which are the same while a file does not change. */
const contents = new WeakMap<object, Content>();
type Content = Pick<FolderObject, "resource" | "secret">;

class ObjectResult {
  private readonly previous: FolderObjects;
  private readonly objects = new Map<string, FolderObject>();
  private readonly problems: SourceProblem[] = [];
  private readonly rejected = new Map<string, RejectedObject | undefined>();
  /** Names of files with a document whose object is unknown, each with its first problem. */
  private readonly unclear = new Map<string, SourceProblem>();

  constructor(previous: FolderObjects) {
    this.previous = previous;
  }

  add(placedObject: Placed): void {
    const { value } = placedObject;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.reportUnclear(placedObject, { field: "", reason: "WrongType", message: "is not an object" });
      return;
    }
    if (this.restored(placedObject, value)) return;
    const type = `${text(value, "apiVersion")}/${text(value, "kind")}`;
    if (type === "v1/List") this.addItems(placedObject, Reflect.get(value, "items"));
    else if (type === "v1/Secret") this.addSecret(placedObject, value);
    else if (type !== "v1/ConfigMap") this.addResource(placedObject, value);
  }

  /** True for a value that what is in force was made from. */
  private restored(placedObject: Placed, value: object): boolean {
    const content = contents.get(value);
    if (content === undefined) return false;
    const inForce = this.previous.objects.get(keyOf(content.resource ?? value));
    if (inForce?.resource !== content.resource) return false;
    this.store(placedObject, value, content);
    return true;
  }

  /** @param fileProblems of files as a whole and of their unreadable documents */
  finish(fileProblems: readonly SourceProblem[]): FolderObjects {
    const unreadable = new Map(fileProblems.toReversed().map((problem) => [problem.file, problem]));
    const isUnclear = (file: string): boolean => unreadable.has(file) || this.unclear.has(file);
    const kept = [...this.previous.objects].filter(
      ([key, { file }]) => !this.objects.has(key) && (isUnclear(file) || this.rejected.has(key)),
    );
    const lost = kept.flatMap(([key, { file, resource }]): readonly RejectedObject[] => {
      const problem = this.rejected.has(key) ? undefined : (unreadable.get(file) ?? this.unclear.get(file));
      return problem === undefined || resource === undefined ? [] : rejectedObject(resource, "Unreadable", problem);
    });
    return {
      objects: new Map([...this.objects, ...kept]),
      problems: [...fileProblems, ...this.problems],
      kept: kept.map(([key]) => key),
      rejected: [...[...this.rejected.values()].flatMap((one) => one ?? []), ...lost],
      isPartial: unreadable.size > 0 || this.unclear.size > 0,
    };
  }

  private addItems(list: Placed, items: unknown): void {
    if (!Array.isArray(items)) {
      this.reportUnclear(list, { field: "items", reason: "WrongType", message: "must be a list" });
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
    else this.reject(placedObject, value, faults);
  }

  private addResource(placedObject: Placed, value: object): void {
    const old = this.previous.objects.get(keyOf(value))?.resource;
    const { resource, problems } = validateResource(value, old);
    if (resource === undefined) this.reject(placedObject, value, unknownType(value) ?? problems);
    else this.store(placedObject, value, { resource });
  }

  private store(at: Placed, value: object, content: Content): void {
    contents.set(value, content);
    const key = keyOf(content.resource ?? value);
    const first = this.objects.get(key);
    if (first === undefined) this.objects.set(key, { ...content, file: at.file, lineOf: at.lineOf });
    else {
      const message = `${key} is already defined in ${first.file}:${first.lineOf("")}; that definition is used`;
      this.report(at, [{ field: "metadata.name", reason: "Duplicate", message }]);
    }
  }

  private reject(at: Placed, value: object, problems: readonly FieldProblem[]): void {
    const key = keyOf(value);
    const [first] = problems;
    if (first !== undefined) {
      const problem = { ...first, file: at.file, line: at.lineOf(first.field) };
      this.rejected.set(key, rejectedObject(identityOf(value), "Invalid", problem)[0]);
      const isUnclear = !this.previous.objects.has(key) && mayBeAnother(value, problems);
      if (isUnclear && !this.unclear.has(at.file)) this.unclear.set(at.file, problem);
    }
    this.report(at, problems);
  }

  private reportUnclear(at: Placed, problem: FieldProblem): void {
    if (!this.unclear.has(at.file)) this.unclear.set(at.file, { ...problem, file: at.file, line: at.lineOf("") });
    this.report(at, [problem]);
  }

  private report({ file, lineOf }: Placed, problems: readonly FieldProblem[]): void {
    this.problems.push(...problems.map((problem) => ({ ...problem, file, line: lineOf(problem.field) })));
  }
}

/** Kind, name and uid of an object that may be invalid. */
interface Identity {
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid?: string };
}

function identityOf(value: object): Identity {
  const metadata = metadataOf(value);
  const uid = text(metadata, "uid");
  const named = { namespace: text(metadata, "namespace") || "default", name: text(metadata, "name") };
  return { kind: text(value, "kind"), metadata: uid === "" ? named : { ...named, uid } };
}

/** True for an object of our group, or of none, whose kind or name is invalid: it may be a known object, misspelt. */
function mayBeAnother(value: object, problems: readonly FieldProblem[]): boolean {
  const [group = ""] = apiVersion.split("/");
  const version = text(value, "apiVersion");
  const isOurs = version === "" || version.startsWith(`${group}/`) || text(value, "kind") === "Secret";
  const isKnownKind = [...kinds, "Secret"].includes(text(value, "kind"));
  return isOurs && (!isKnownKind || problems.some(({ field }) => field.startsWith("metadata")));
}

/** The object that is not applied as its file defines it; none for one of another kind or without a name. */
function rejectedObject(
  { kind, metadata }: Identity,
  reason: string,
  { file, line, field, message }: SourceProblem,
): readonly RejectedObject[] {
  const known = kinds.find((one) => one === kind);
  if (known === undefined || metadata.name === "") return [];
  const { namespace, name } = metadata;
  const at = field === "" ? "" : `${field}: `;
  const uid = uidOf({ kind: known, metadata });
  return [{ kind: known, uid, namespace, name, reason, message: `${file}:${line}: ${at}${message}`, file }];
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
  const { kind, metadata } = identityOf(value);
  return objectKey(kind, metadata.namespace, metadata.name);
}

function metadataOf(value: object): object {
  const metadata: unknown = Reflect.get(value, "metadata");
  return typeof metadata === "object" && metadata !== null ? metadata : {};
}

function text(value: object, field: string): string {
  const member: unknown = Reflect.get(value, field);
  return typeof member === "string" ? member : "";
}
