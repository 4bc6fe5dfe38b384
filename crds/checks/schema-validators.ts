// Rules of one resource or of several, beyond CEL. Pure: no input or output.
import { Ajv, type ValidateFunction } from "ajv";
import { apiVersion, type Kind } from "../resource.ts";
import { specSchemas } from "../types/schemas.ts";

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

/** Compiles the schema of one kind. The validator fills defaults into what it is given. */
export function createSchemaValidator(kind: Kind): ValidateFunction {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true, ...fastToCompile });
  ajv.addFormat("date-time", isMoment);
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
export function firstRepeated(items: readonly unknown[], keys: readonly string[]): number | undefined {
  const identities = items.map((item) =>
    JSON.stringify(keys.length === 0 ? item : keys.map((key) => valueOf(item, key))),
  );
  const index = identities.findIndex((identity, at) => identities.indexOf(identity) < at);
  return index < 0 ? undefined : index;
}

function valueOf(item: unknown, key: string): unknown {
  return typeof item === "object" && item !== null ? Reflect.get(item, key) : undefined;
}
