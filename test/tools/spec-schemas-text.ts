import type { Schema } from "./definition-schema.ts";

type Json = string | number | boolean | null | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [member: string]: Json;
}

/** Names of constants by the JSON of their values. */
type Names = ReadonlyMap<string, string>;

const columnsMax = 120;
/** A repeated schema with fewer characters is written out where it is used. */
const sharedCharactersMin = 100;

/** Constants of the schemas that stand in more than one place, and the schema of each kind's `spec`. */
export function specSchemasText(specs: Readonly<Record<string, Schema>>): string {
  const names = repeatedSchemas(specs);
  // A schema is longer than those below it, so the shorter ones come first.
  const shared = [...names].toSorted(([one], [other]) => one.length - other.length);
  const roots = Object.fromEntries(Object.entries(specs).map(([kind, spec]) => [kind, validated(spec)]));
  return [
    ...shared.map(([text, name]) => {
      const others = new Map([...names].filter(([other]) => other !== text));
      return `const ${name} = ${written(JSON.parse(text) as Json, `const ${name} = `.length, "", others)};\n`;
    }),
    "/** What Ajv reads of the schema of each kind's `spec`. An object has only the properties that are listed. */",
    "export const specSchemas: Readonly<Record<(typeof kinds)[number], object>> = " +
      `${written(roots, columnsMax, "", names)};\n`,
  ].join("\n");
}

/** Schemas that stand in more than one place, named by the first place. */
function repeatedSchemas(specs: Readonly<Record<string, Schema>>): Names {
  const firstPlaces = new Map<string, string>();
  const repeated = new Map<string, string>();
  const visit = (schema: Schema, place: string): void => {
    const text = JSON.stringify(validated(schema));
    const first = firstPlaces.get(text);
    if (first !== undefined) {
      if (text.length >= sharedCharactersMin) repeated.set(text, first);
      return;
    }
    firstPlaces.set(text, place);
    const { items, properties = {}, additionalProperties } = schema;
    for (const [name, below] of Object.entries(properties)) visit(below, place + capital(name));
    if (items !== undefined) visit(items, `${place}Item`);
    if (additionalProperties !== undefined) visit(additionalProperties, `${place}Value`);
  };
  for (const [kind, spec] of Object.entries(specs)) visit(spec, kind.slice(0, 1).toLowerCase() + kind.slice(1));
  return repeated;
}

function capital(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** Without descriptions and CEL rules, which have twins in `crds/checks/`; unknown fields are refused explicitly. */
function validated({ description: _text, "x-kubernetes-validations": _rules, ...schema }: Schema): JsonObject {
  const { items, properties, additionalProperties, ...rest } = schema;
  const members = Object.entries(properties ?? {}).map(([name, property]) => [name, validated(property)] as const);
  return {
    ...(rest as JsonObject),
    ...(items === undefined ? {} : { items: validated(items) }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(members) }),
    ...(schema.type === "object"
      ? { additionalProperties: additionalProperties === undefined ? false : validated(additionalProperties) }
      : {}),
  };
}

/** A literal that stands `column` columns from the left; what has a name is written by it. */
function written(value: Json, column: number, indent: string, names: Names): string {
  const inline = onOneLine(value, names);
  if (column + inline.length < columnsMax) return inline;
  const below = `${indent}  `;
  if (Array.isArray(value))
    return `[\n${value.map((item: Json) => `${below}${onOneLine(item, names)},\n`).join("")}${indent}]`;
  const members = Object.entries(value as JsonObject).map(([name, member]) => {
    const head = `${below}${memberName(name)}: `;
    return `${head}${names.get(JSON.stringify(member)) ?? written(member, head.length, below, names)},\n`;
  });
  return `{\n${members.join("")}${indent}}`;
}

function onOneLine(value: Json, names: Names): string {
  const name = names.get(JSON.stringify(value));
  if (name !== undefined) return name;
  if (Array.isArray(value)) return `[${value.map((item: Json) => onOneLine(item, names)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([member, below]) => `${memberName(member)}: ${onOneLine(below, names)}`);
  return `{ ${members.join(", ")} }`;
}

function memberName(name: string): string {
  return /^[A-Za-z]\w*$/u.test(name) ? name : JSON.stringify(name);
}
