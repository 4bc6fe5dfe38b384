// What every request and response of the API looks like: one JSON Schema each, which also carries its TypeScript type.

declare const valueOf: unique symbol;

/** A JSON Schema of draft 2020-12 whose valid values have the type `Value`. Only the type checker sees `valueOf`. */
export interface Schema<Value = unknown> {
  readonly [keyword: string]: unknown;
  readonly [valueOf]?: Value;
}

/** The type of the values that a schema accepts. */
export type Static<S extends Schema> = S extends Schema<infer Value> ? Value : never;

type Keywords = Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, Schema>>;
const noMembers = {};
type Joined<Value> = { readonly [Name in keyof Value]: Value[Name] };
type ObjectOf<Required extends Members, Optional extends Members> = Joined<
  { readonly [Name in keyof Required]: Static<Required[Name]> } & {
    readonly [Name in keyof Optional]?: Static<Optional[Name]>;
  }
>;

type RecordOf<Name extends string, Value> = string extends Name
  ? Readonly<Record<string, Value>>
  : Readonly<Partial<Record<Name, Value>>>;

/** Keywords and a description, without a member for an absent description. */
function keywordsOf(keywords: Keywords, description: string | undefined): Keywords {
  return description === undefined ? keywords : { ...keywords, description };
}

export function text(description?: string, keywords: Keywords = {}): Schema<string> {
  return keywordsOf({ type: "string", ...keywords }, description);
}

/** One of these words. */
export function words<const Word extends string>(values: readonly Word[], description?: string): Schema<Word> {
  return keywordsOf({ type: "string", enum: [...values] }, description);
}

export function number(description?: string, keywords: Keywords = {}): Schema<number> {
  return keywordsOf({ type: "number", ...keywords }, description);
}

export function integer(description?: string, keywords: Keywords = {}): Schema<number> {
  return keywordsOf({ type: "integer", ...keywords }, description);
}

/** A whole number from 0. */
export function count(description?: string): Schema<number> {
  return integer(description, { minimum: 0 });
}

/** A number from 0 to 1. */
export function share(description?: string): Schema<number> {
  return number(description, { minimum: 0, maximum: 1 });
}

export function flag(description?: string): Schema<boolean> {
  return keywordsOf({ type: "boolean" }, description);
}

export function constant<const Value extends string | number>(value: Value, description?: string): Schema<Value> {
  return keywordsOf({ const: value }, description);
}

/** A flag that can only be set. */
export function constantTrue(description?: string): Schema<true> {
  return keywordsOf({ type: "boolean", const: true }, description);
}

/** Any object. */
export function anyObject(description?: string): Schema<Readonly<Record<string, unknown>>> {
  return keywordsOf({ type: "object" }, description);
}

/**
 * An object with required and optional members. It may have more members: a later version only adds. Source: seed
 * "Operational Metrics API" §9.
 */
export function object<const Required extends Members, const Optional extends Members = typeof noMembers>(
  required: Required,
  optional?: Optional,
): Schema<ObjectOf<Required, Optional>> {
  return { type: "object", properties: { ...required, ...optional }, required: Object.keys(required) };
}

/** An object with these members and no others. Request bodies are closed. */
export function closedObject<const Required extends Members, const Optional extends Members = typeof noMembers>(
  required: Required,
  optional?: Optional,
): Schema<ObjectOf<Required, Optional>> {
  return { ...object(required, optional), additionalProperties: false };
}

/** The schema with a description. */
export function described<Value>(schema: Schema<Value>, description: string): Schema<Value> {
  return { ...schema, description };
}

/** The schema of a member that is deprecated, as docs/reference/versions.md describes. */
export function deprecated<Value>(schema: Schema<Value>): Schema<Value> {
  return { ...schema, deprecated: true };
}

/** An object whose members all have one type. */
export function record<Value, Name extends string = string>(
  values: Schema<Value>,
  {
    description,
    ...keywords
  }: Keywords & { readonly description?: string; readonly propertyNames?: Schema<Name> } = {},
): Schema<RecordOf<Name, Value>> {
  return keywordsOf({ type: "object", additionalProperties: values, ...keywords }, description);
}

export function list<Item>(
  items: Schema<Item>,
  description?: string,
  bounds: { readonly minItems?: number; readonly maxItems?: number; readonly uniqueItems?: boolean } = {},
): Schema<readonly Item[]> {
  return keywordsOf({ type: "array", items, ...bounds }, description);
}

/** A list of exactly these two items. */
export function pair<A, B>(first: Schema<A>, second: Schema<B>, description: string): Schema<readonly [A, B]> {
  return { type: "array", prefixItems: [first, second], items: false, minItems: 2, maxItems: 2, description };
}

export function either<const S extends readonly Schema[]>(schemas: S, description?: string): Schema<Static<S[number]>> {
  return keywordsOf({ anyOf: schemas }, description);
}

export function nullable<Value>(schema: Schema<Value>, description?: string): Schema<Value | null> {
  return keywordsOf({ anyOf: [schema, { type: "null" }] }, description);
}

export function numberOrNull(description?: string, keywords: Keywords = {}): Schema<number | null> {
  return keywordsOf({ type: ["number", "null"], ...keywords }, description);
}

export function integerOrNull(description?: string, keywords: Keywords = {}): Schema<number | null> {
  return keywordsOf({ type: ["integer", "null"], ...keywords }, description);
}

/** A reference to a schema of `schemas.ts`, which replaces it with the name. */
export function ref<Value>(schema: Schema<Value>, description?: string): Schema<Value> {
  return keywordsOf({ $ref: schema }, description);
}

/** Names of the members that the schema of an object has. */
export function memberNames(schema: Schema<object>): readonly string[] {
  return Object.keys(schema["properties"] ?? {});
}
