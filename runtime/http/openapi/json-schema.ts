/** A JSON Schema of draft 2020-12. `$ref` holds the bare name of another schema until a document is made of it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schemas by name. */
export type SchemaSet = Readonly<Record<string, JsonSchema>>;

type Members = Readonly<Record<string, JsonSchema>>;

/** The dialect of every schema. */
export const schemaDialect = "https://json-schema.org/draft/2020-12/schema";

/** A reference to the schema of this name. */
export function ref(name: string): JsonSchema {
  return { $ref: name };
}

/**
 * An object with required and optional members. It may have more members: a later version only adds. Source: seed
 * "Operational Metrics API" §9.
 */
export function object(required: Members, optional: Members = {}): JsonSchema {
  return { type: "object", properties: { ...required, ...optional }, required: Object.keys(required) };
}

/** An object with these members and no others. Request bodies are closed. */
export function closedObject(required: Members, optional: Members = {}): JsonSchema {
  return { ...object(required, optional), additionalProperties: false };
}

export function list(
  items: JsonSchema,
  bounds: { readonly minItems?: number; readonly maxItems?: number; readonly uniqueItems?: boolean } = {},
): JsonSchema {
  return { type: "array", items, ...bounds };
}

export function text(keywords: JsonSchema = {}): JsonSchema {
  return { type: "string", ...keywords };
}

export function words(values: readonly string[], keywords: JsonSchema = {}): JsonSchema {
  return { type: "string", enum: [...values], ...keywords };
}

export const number: JsonSchema = { type: "number" };
export const share: JsonSchema = { type: "number", minimum: 0, maximum: 1 };
export const count: JsonSchema = { type: "integer", minimum: 0 };
export const flag: JsonSchema = { type: "boolean" };

/** The schema with a description. */
export function described(schema: JsonSchema, description: string): JsonSchema {
  return { ...schema, description };
}

/** The same schema with each reference replaced by `href(name)`. */
export function withRefs(schema: JsonSchema, href: (name: string) => string): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === "$ref" ? href(String(value)) : inside(value, href),
    ]),
  );
}

/**
 * One schema with all schemas that it refers to, complete without another document.
 * @throws Error for an unknown name
 */
export function bundled(name: string, schemas: SchemaSet): JsonSchema {
  const others = [...namesFrom(name, schemas)].filter((other) => other !== name).sort();
  const define = (other: string): JsonSchema =>
    withRefs(schemaOf(other, schemas), (target) => (target === name ? "#" : `#/$defs/${target}`));
  const defs = Object.fromEntries(others.map((other) => [other, define(other)]));
  return { $schema: schemaDialect, title: name, ...define(name), ...(others.length === 0 ? {} : { $defs: defs }) };
}

function schemaOf(name: string, schemas: SchemaSet): JsonSchema {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`no schema ${name}`);
  return schema;
}

function namesFrom(name: string, schemas: SchemaSet): ReadonlySet<string> {
  const seen = new Set([name]);
  // The loop also visits names that are added while it runs.
  for (const next of seen) {
    withRefs(schemaOf(next, schemas), (target) => {
      seen.add(target);
      return target;
    });
  }
  return seen;
}

function inside(value: unknown, href: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => inside(item, href));
  return typeof value === "object" && value !== null ? withRefs(value as JsonSchema, href) : value;
}
