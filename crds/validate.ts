import { isDeepStrictEqual } from "node:util";
import type { ValidateFunction } from "ajv";
import { eventCatalogRules, eventSchemaProblems } from "./checks/event-catalog.ts";
import { metricCatalogRules } from "./checks/metric-catalog.ts";
import { queryClassQuotaRules } from "./checks/query-class-quota.ts";
import { brokenRules, type PlacedRule } from "./checks/cel-rule.ts";
import { createSchemaValidator, schemaProblems } from "./checks/schema-problems.ts";
import { webhookPartnerRules } from "./checks/webhook-partner.ts";
import type { FieldProblem } from "./problem.ts";
import { apiVersion, type Kind, type Resource } from "./resource.ts";
import { kinds } from "./types/schemas.ts";

export type { FieldProblem } from "./problem.ts";

/** The twins of the CEL rules, by kind. */
export const rulesOf: Readonly<Record<Kind, readonly PlacedRule[]>> = {
  EventCatalog: eventCatalogRules,
  MetricCatalog: metricCatalogRules,
  QueryClassQuota: queryClassQuotaRules,
  WebhookPartner: webhookPartnerRules,
};

/** A resource with every default, or its problems; never both. */
type Validation =
  | { readonly resource: Resource; readonly problems: readonly [] }
  | { readonly resource?: undefined; readonly problems: readonly FieldProblem[] };

/** Validators by kind, compiled with the first object of the kind: that takes milliseconds each. */
const validators = new Map<Kind, ValidateFunction>();

/** Resources that were found valid. Readers of a folder validate an object, and `compile` does so again. */
const valid = new WeakSet<object>();

/**
 * Validates like the API server: removes null members, fills in defaults, then checks the schema and the rules. `old`
 * is the object that this one replaces, for rules about changes. The given value is not changed. A resource from here
 * must not be changed either: it counts as valid when it comes again.
 */
export function validateResource(value: unknown, old?: Resource): Validation {
  if (old === undefined && isObject(value) && valid.has(value)) return { resource: value as Resource, problems: [] };
  const kind = kindOf(value);
  if (kind === undefined) return { problems: [unknownKind(value)] };
  const object = kind === "EventCatalog" ? withoutNulls(value, openMembers) : withoutNulls(value);
  const validator = validatorOf(kind);
  if (!validator(object)) {
    const problems = schemaProblems(validator.errors ?? []);
    return { problems: [...problems, ...brokenRules(rulesOf[kind], object, old, (path) => isApart(path, problems))] };
  }
  const problems = [...brokenRules(rulesOf[kind], object, old), ...contentProblems(object as Resource)];
  if (problems.length > 0) return { problems };
  const resource = asIs(value, withoutStatus(object as Resource));
  valid.add(resource);
  return { resource, problems: [] };
}

/** True for a value that the schema accepts as a whole: no problem is in it, and it is in no problem. */
function isApart(path: string, problems: readonly FieldProblem[]): boolean {
  return problems.every(({ field }) => !isWithin(field, path) && !isWithin(path, field));
}

function isWithin(field: string, other: string): boolean {
  return field === other || (field.startsWith(other) && (other === "" || ".[".includes(field.charAt(other.length))));
}

/** Returns the value itself when it has every default already, so that memory holds it once. */
function asIs(value: unknown, resource: Resource): Resource {
  return isDeepStrictEqual(value, resource) ? (value as Resource) : resource;
}

function validatorOf(kind: Kind): ValidateFunction {
  const known = validators.get(kind) ?? createSchemaValidator(kind);
  validators.set(kind, known);
  return known;
}

function kindOf(value: unknown): Kind | undefined {
  return kinds.find((kind) => isObject(value) && Reflect.get(value, "kind") === kind);
}

function unknownKind(value: unknown): FieldProblem {
  const name = isObject(value) ? Reflect.get(value, "kind") : undefined;
  const shown = typeof name === "string" ? `kind ${name}` : "an object without a kind";
  return {
    field: "kind",
    reason: "NotSupported",
    message: `${shown} is not one of ${kinds.join(", ")} of ${apiVersion}`,
  };
}

function withoutStatus({ apiVersion: version, kind, metadata, spec }: Resource): Resource {
  return { apiVersion: version, kind, metadata, spec } as Resource;
}

/** Members of an event catalog whose content is data: a null there is a value. */
const openMembers: ReadonlySet<string> = new Set(["schema", "examples"]);

/**
 * A copy without the null members of objects, at any depth. Source: defaulting of structural schemas.
 * @param open names of members that are kept as they are
 */
function withoutNulls(value: unknown, open: ReadonlySet<string> = new Set()): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, open));
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    members.map(([name, member]) => [name, open.has(name) ? member : withoutNulls(member, open)]),
  );
}

/** Problems of contents that no CEL rule reads. */
function contentProblems(resource: Resource): readonly FieldProblem[] {
  return resource.kind === "EventCatalog" ? eventSchemaProblems(resource.spec) : [];
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
