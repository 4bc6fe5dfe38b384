import { manifestsLengthMax, resourcesMax, type PreviewRequest as Body } from "../../api/previews.ts";
import { setImmediate } from "node:timers/promises";
import type { Resource } from "../../crds/resource.ts";
import { validateResource } from "../../crds/validate.ts";
import { readYaml } from "../config/yaml/yaml-documents.ts";
import { ApiError, type FieldError } from "../errors/api-error.ts";
import { parseJson } from "../json/json-body.ts";
import { isTime } from "../webhooks/replay/parse-body.ts";
import { objectName, type Edit } from "./edited-config.ts";

/** The valid body of `POST /v1/preview`. */
export interface PreviewRequest extends Edit {
  /** Start and end of the window of events, Unix milliseconds; without a start only resources are compared. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** Objects of a YAML text, each with the line on which it begins and the line of each of its fields. */
interface Manifests {
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

const problemsMax = 20;
/** Longest single document, in characters. Parsing it takes about a quarter of a second, and others wait so long. */
const documentLengthMax = 131_072;
/** Begins a document, also inside of a block of text. Source: YAML 1.2.2 §9.1.2. */
const documentStart = /^---(?=\s|$)/mu;
/** Validations between two breaks for other requests, about five milliseconds of work. */
const validationsAtOnce = 16;
const moment = "a time like 2026-01-31T12:00:00.000Z";

/** Members of the body, with what each must be. */
const members = {
  resources: {
    mustBe: `a list of at most ${resourcesMax} WebhookPartner, MetricCatalog, QueryClassQuota and EventCatalog objects`,
    accepts: (value: unknown) => Array.isArray(value) && value.length <= resourcesMax,
  },
  manifests: {
    mustBe: `YAML of such objects, at most ${manifestsLengthMax} characters`,
    accepts: (value: unknown) => typeof value === "string" && value.length <= manifestsLengthMax,
  },
  prune: { mustBe: "true or false", accepts: (value: unknown) => typeof value === "boolean" },
  from: { mustBe: moment, accepts: isTime },
  to: { mustBe: moment, accepts: isTime },
} satisfies Record<keyof Body, object>;

/** @throws ApiError `invalid_utf8`, `invalid_json`, or `invalid_request` with every invalid field */
export async function parsePreviewRequest(bytes: Uint8Array): Promise<PreviewRequest> {
  const value = parseJson(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError("invalid_request", "The body must be a JSON object with resources.");
  rejectProblems(memberProblems(value));
  const { resources = [], manifests, prune = false, from, to } = value as Body;
  return {
    resources: await validResources(manifests === undefined ? placed(resources) : await placedManifests(manifests)),
    prune,
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
  };
}

function memberProblems(value: object): readonly FieldError[] {
  const given = Object.entries(value);
  const unknown = given
    .filter(([field]) => !Object.hasOwn(members, field))
    .map(([field]) => ({ field, code: "unknown", detail: `${field} is not a member of this request; remove it` }));
  const invalid = Object.entries(members).flatMap(([field, { accepts, mustBe }]): FieldError[] => {
    const member: unknown = Reflect.get(value, field);
    if (member === undefined) return [];
    return accepts(member) ? [] : [{ field, code: "invalid", detail: `${field} must be ${mustBe}` }];
  });
  const { resources, manifests, from, to } = value as Body;
  const isOne = (resources === undefined) !== (manifests === undefined);
  const objects = isOne
    ? []
    : [
        {
          field: "resources",
          code: "invalid",
          detail: `Send either resources, ${members.resources.mustBe}, or manifests`,
        },
      ];
  const isReversed = isTime(from) && isTime(to) && Date.parse(from) >= Date.parse(to);
  const order = isReversed ? [{ field: "to", code: "invalid", detail: "to must be later than from" }] : [];
  return [...unknown, ...invalid, ...objects, ...order];
}

/** An object of a request, and how its faults name their place. */
interface PlacedObject {
  readonly value: unknown;
  readonly problemAt: (field: string, message: string) => FieldError;
}

function placed(resources: readonly unknown[]): readonly PlacedObject[] {
  return resources.map((value, index) => {
    const at = `resources[${index}]`;
    return { value, problemAt: (field, message) => problemAt(field === "" ? at : `${at}.${field}`, message) };
  });
}

/** @throws ApiError `invalid_request` when a document cannot be read */
async function placedManifests(text: string): Promise<readonly PlacedObject[]> {
  const { objects: all, problems } = await readManifests(text);
  rejectProblems(problems);
  const objects = all.filter(({ value }) => !isSecret(value));
  if (objects.length > resourcesMax)
    rejectProblems([{ field: "manifests", code: "invalid", detail: `manifests must be ${members.resources.mustBe}` }]);
  return objects.map(({ value, lineOf }) => ({
    value,
    problemAt: (field, message) => manifestProblem(lineOf(field), field === "" ? message : `${field}: ${message}`),
  }));
}

/** Files of partners often contain their Secrets, as those of `docs/examples` do. A preview does not read them. */
function isSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Reflect.get(value, "kind") === "Secret" && Reflect.get(value, "apiVersion") === "v1";
}

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
    for (const { value, lineOf } of documents)
      objects.push(...itemsOf({ value, lineOf: (field) => before + lineOf(field) }));
  }
  return { objects, problems };
}

/** The problem of a text at a line. */
function manifestProblem(line: number, message: string): FieldError {
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

/** The resources with every default. The wait between some of them lets other requests proceed. */
async function validResources(objects: readonly PlacedObject[]): Promise<readonly Resource[]> {
  const resources: Resource[] = [];
  const problems: FieldError[] = [];
  const names = new Set<string>();
  for (const [index, { value, problemAt: at }] of objects.entries()) {
    if (index % validationsAtOnce === 0) await setImmediate();
    const { resource, problems: found } = validateResource(namespaced(value));
    problems.push(...found.map(({ field, message }) => at(field, message)));
    if (resource === undefined) continue;
    const name = objectName(resource.kind, resource.metadata);
    if (names.has(name)) problems.push(at("metadata.name", `${name} is given twice; send it once`));
    names.add(name);
    resources.push(resource);
  }
  rejectProblems(problems);
  return resources;
}

/** An object without a namespace is in `default`, as in a folder. */
function namespaced(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const metadata: unknown = Reflect.get(value, "metadata");
  if (typeof metadata !== "object" || metadata === null) return value;
  return { ...value, metadata: { ...metadata, namespace: Reflect.get(metadata, "namespace") ?? "default" } };
}

function problemAt(field: string, message: string): FieldError {
  return { field, code: "invalid", detail: `${field}: ${message}` };
}

function rejectProblems(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new ApiError("invalid_request", "The edit is invalid", { errors: errors.slice(0, problemsMax) });
}
