import * as bulk from "./bulk.ts";
import * as catalog from "./catalog.ts";
import * as deliveryStats from "./delivery-stats.ts";
import * as documents from "./documents.ts";
import * as events from "./events.ts";
import * as histories from "./histories.ts";
import * as objectives from "./objectives.ts";
import * as partnerHealth from "./partner-health.ts";
import * as partners from "./partners.ts";
import * as peers from "./peers.ts";
import * as previews from "./previews.ts";
import * as prometheus from "./prometheus.ts";
import * as queries from "./queries.ts";
import * as quotas from "./quotas.ts";
import * as replays from "./replays.ts";
import type { Schema } from "./schema.ts";
import * as selections from "./selections.ts";
import * as usage from "./usage.ts";

/** A JSON Schema of draft 2020-12. `$ref` holds the bare name of another schema until a document is made of it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schemas by name. */
export type SchemaSet = Readonly<Record<string, JsonSchema>>;

const modules = {
  ...bulk,
  ...catalog,
  ...deliveryStats,
  ...documents,
  ...events,
  ...histories,
  ...objectives,
  ...partnerHealth,
  ...partners,
  ...peers,
  ...previews,
  ...prometheus,
  ...queries,
  ...quotas,
  ...replays,
  ...selections,
  ...usage,
};

/** The name of a schema: of an export that begins with a capital letter. */
export type SchemaName = Extract<keyof typeof modules, Capitalize<string>>;

/** The dialect of every schema. */
export const schemaDialect = "https://json-schema.org/draft/2020-12/schema";

const named = Object.entries<unknown>(modules).filter(isNamed);
const names = new Map<unknown, string>(named.map(([name, schema]) => [schema, name]));

/** Every schema of what is served, by name. */
export const schemas: SchemaSet = Object.fromEntries(named.map(([name, schema]) => [name, withRefs(schema)] as const));

/** The same schema with each reference, to a schema or by its name, replaced by `href(name)`. */
export function withRefs(schema: JsonSchema, href: (name: string) => string = String): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === "$ref" ? href(nameOf(value)) : inside(value, href),
    ]),
  );
}

/**
 * A schema with all schemas that it refers to, complete without another document.
 * @throws Error for an unknown name
 */
export function bundled(name: string): JsonSchema {
  const others = [...namesFrom(name)].filter((other) => other !== name).sort();
  const define = (other: string): JsonSchema =>
    withRefs(schemaOf(other), (target) => (target === name ? "#" : `#/$defs/${target}`));
  const defs = Object.fromEntries(others.map((other) => [other, define(other)]));
  return { $schema: schemaDialect, title: name, ...define(name), ...(others.length === 0 ? {} : { $defs: defs }) };
}

function isNamed(entry: readonly [string, unknown]): entry is [SchemaName, Schema] {
  return /^[A-Z]/u.test(entry[0]);
}

/** @throws Error for a schema that no module exports */
function nameOf(schema: unknown): string {
  const name = typeof schema === "string" ? schema : names.get(schema);
  if (name === undefined) throw new Error(`a reference to a schema without a name: ${JSON.stringify(schema)}`);
  return name;
}

function inside(value: unknown, href: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => inside(item, href));
  return typeof value === "object" && value !== null ? withRefs(value as JsonSchema, href) : value;
}

function schemaOf(name: string): JsonSchema {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`no schema ${name}`);
  return schema;
}

function namesFrom(name: string): ReadonlySet<string> {
  const seen = new Set([name]);
  // The loop also visits names that are added while it runs.
  for (const next of seen) {
    withRefs(schemaOf(next), (target) => {
      seen.add(target);
      return target;
    });
  }
  return seen;
}
