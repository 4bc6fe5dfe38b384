// Rules of one resource or of several, beyond CEL. Pure: no input or output.

import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { FieldProblem, FieldReason } from "../problem.ts";
import { apiVersion, type Kind } from "../resource.ts";
import { specSchemas } from "../types/schemas.ts";

interface Words {
  readonly reason: FieldReason;
  /** The requirement that the field breaks, in words that follow its name. */
  readonly words: (error: ErrorObject) => string;
  /** Index of the item at fault in a list. @default none */
  readonly below?: (error: ErrorObject) => string;
}

const limit = ({ params }: ErrorObject): string => String(params["limit"]);

/** One row per keyword that the schemas use. */
const wordsOf: Readonly<Record<string, Words>> = {
  required: { reason: "Required", words: () => "is required" },
  additionalProperties: { reason: "Unknown", words: () => "is not a known field" },
  type: { reason: "WrongType", words: ({ params }) => `must be of type ${String(params["type"])}` },
  enum: { reason: "NotSupported", words: ({ schema }) => `must be ${alternatives(schema)}` },
  pattern: { reason: "Malformed", words: ({ params }) => `must match ${String(params["pattern"])}` },
  format: { reason: "Malformed", words: () => "must be a time in UTC like 2026-01-31T12:00:00Z" },
  minimum: { reason: "OutOfRange", words: (error) => `must be at least ${limit(error)}` },
  maximum: { reason: "OutOfRange", words: (error) => `must be at most ${limit(error)}` },
  minLength: {
    reason: "OutOfRange",
    words: (error) => (limit(error) === "1" ? "must not be empty" : `must have at least ${limit(error)} characters`),
  },
  maxLength: { reason: "OutOfRange", words: (error) => `must have at most ${limit(error)} characters` },
  minItems: {
    reason: "OutOfRange",
    words: (error) => (limit(error) === "1" ? "must not be empty" : `must have at least ${limit(error)} items`),
  },
  maxItems: { reason: "OutOfRange", words: (error) => `must have at most ${limit(error)} items` },
  maxProperties: { reason: "OutOfRange", words: (error) => `must have at most ${limit(error)} entries` },
  "x-kubernetes-list-type": {
    reason: "Duplicate",
    words: () => "is already in the list",
    below: ({ data }) => repeatedIndex(data, []),
  },
  "x-kubernetes-list-map-keys": {
    reason: "Duplicate",
    words: ({ schema }) => `has the ${list(schema).join(", ")} of an earlier item`,
    below: ({ data, schema }) => repeatedIndex(data, list(schema)),
  },
};

const nameLengthMax = 253;
const namespaceLengthMax = 63;

/** Schema of the metadata members that this program reads. */
const metadataSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: {
      type: "string",
      maxLength: nameLengthMax,
      pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
    },
    namespace: {
      type: "string",
      maxLength: namespaceLengthMax,
      pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
      default: "default",
    },
    uid: { type: "string", minLength: 1 },
    generation: { type: "integer", minimum: 0 },
    creationTimestamp: { type: "string" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    annotations: { type: "object", additionalProperties: { type: "string" } },
  },
};

/**
 * Options that halve the time of a compilation, which every start waits for. The schemas are generated and tested, so
 * they need no check against the schema of schemas. Code that is not optimized validates as fast.
 */
const fastToCompile = { meta: false, validateSchema: false, code: { optimize: false } };

/** Violations of the schema, one problem for each field, in sentences that begin with the field's own name. */
export function schemaProblems(errors: readonly ErrorObject[]): readonly FieldProblem[] {
  const problems = errors.map((error): FieldProblem => {
    const { reason, words, below } = wordsOf[error.keyword] ?? { reason: "Invalid", words: () => error.message ?? "" };
    const field = fieldOf(error) + (below?.(error) ?? "");
    return { field, reason, message: `${lastMemberOf(field)} ${words(error)}` };
  });
  return problems.filter(({ field }, index) => problems.findIndex((other) => other.field === field) === index);
}

/** `/spec/metrics/3/id` → `spec.metrics[3].id`; an unknown or missing member is named itself. */
export function fieldOf({ instancePath, params }: ErrorObject): string {
  const { additionalProperty, missingProperty } = params as Readonly<Record<string, string | undefined>>;
  const member = additionalProperty ?? missingProperty;
  const segments = instancePath.split("/").slice(1);
  const names = segments.map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
  const path = names.map((name) => (/^\d+$/u.test(name) ? `[${name}]` : `.${name}`)).join("");
  return `${path}${member === undefined ? "" : `.${member}`}`.replace(/^\./u, "");
}

function lastMemberOf(field: string): string {
  return /[^.]*$/u.exec(field)?.[0] || "the object";
}

function repeatedIndex(data: unknown, keys: readonly string[]): string {
  const index = firstRepeated(list(data), keys);
  return index === undefined ? "" : `[${index}]`;
}

function alternatives(schema: unknown): string {
  const [last = "", ...others] = list(schema).toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(", ")} or ${last}`;
}

function list(value: unknown): readonly string[] {
  return Array.isArray(value) ? value : [];
}

/** Compiles the schema of one kind. The validator fills defaults into what it is given. */
export function createSchemaValidator(kind: Kind): ValidateFunction {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true, ...fastToCompile });
  ajv.addFormat("date-time", isMoment);
  ajv.addFormat("date", (text: string) => isMoment(`${text}T00:00:00Z`));
  ajv.addKeyword({ keyword: "x-kubernetes-list-type", schemaType: "string", type: "array", validate: isSet });
  ajv.addKeyword({ keyword: "x-kubernetes-list-map-keys", schemaType: "array", type: "array", validate: isMap });
  return ajv.compile({
    type: "object",
    required: ["apiVersion", "kind", "metadata", "spec"],
    properties: {
      apiVersion: { type: "string", enum: [apiVersion] },
      kind: { type: "string", enum: [kind] },
      metadata: metadataSchema,
      spec: specSchemas[kind],
      status: { type: "object" },
    },
    additionalProperties: false,
  });
}

/** True for a UTC time that exists in the calendar; 30 February does not. */
function isMoment(text: string): boolean {
  const atMs = Date.parse(text);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text.slice(0, "2026-01-01T00:00:00".length));
}

function isSet(type: string, items: readonly unknown[]): boolean {
  return type !== "set" || firstRepeated(items, []) === undefined;
}

function isMap(keys: readonly string[], items: readonly unknown[]): boolean {
  return firstRepeated(items, keys) === undefined;
}

/** Index of the first item that equals an earlier one: in its keys, or, without keys, as a whole. */
function firstRepeated(items: readonly unknown[], keys: readonly string[]): number | undefined {
  const identities = items.map((item) =>
    JSON.stringify(keys.length === 0 ? item : keys.map((key) => valueOf(item, key))),
  );
  const index = identities.findIndex((identity, at) => identities.indexOf(identity) < at);
  return index < 0 ? undefined : index;
}

function valueOf(item: unknown, key: string): unknown {
  return typeof item === "object" && item !== null ? Reflect.get(item, key) : undefined;
}
