// The meanings of members whose schema has no description of its own. Types and bounds are in the schemas.
import type { JsonSchema, SchemaSet } from "../json-schema.ts";

/** By schema, then by path of the member, such as `error_budget.total`. Lists and alternatives add nothing to it. */
export type Meanings = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Returns the schemas with a description of each member: the one of `meanings`, else its own, that of its items, or
 * that of its only alternative with one. A member without any stays as it is.
 */
export function describeMembers(schemas: SchemaSet, meanings: Meanings): SchemaSet {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, describe(schema, "", meanings[name] ?? {}) as JsonSchema]),
  );
}

type Own = Meanings[string];

function describe(value: unknown, path: string, meanings: Own): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => describe(item, path, meanings));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([keyword, inner]) => [
      keyword,
      keyword === "properties" ? describeAll(inner as SchemaSet, path, meanings) : describe(inner, path, meanings),
    ]),
  );
}

function describeAll(members: SchemaSet, path: string, meanings: Own): SchemaSet {
  const prefix = path === "" ? "" : `${path}.`;
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => {
      const own = describe(member, `${prefix}${name}`, meanings) as JsonSchema;
      const description = meanings[`${prefix}${name}`] ?? ownDescription(member);
      return [name, description === undefined ? own : { ...own, description }];
    }),
  );
}

/** The description of a member in its own schema; undefined without one. */
export function ownDescription(member: JsonSchema): string | undefined {
  const {
    description,
    items,
    anyOf = [],
  } = member as {
    readonly description?: string;
    readonly items?: JsonSchema;
    readonly anyOf?: readonly JsonSchema[];
  };
  const inside = [items, ...anyOf].flatMap((one) => (one?.["description"] as string | undefined) ?? []);
  return description ?? (inside.length === 1 ? inside[0] : undefined);
}
