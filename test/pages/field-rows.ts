import type { Schema } from "../tools/definition-schema.ts";

/** One field below a place of a resource, as a page shows it. */
interface Field {
  /** Path from the place, such as `keys[].secretRef.name`. */
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** A table of all fields below a schema: type with bounds, default and effect. */
export function fieldTable(schema: Schema): string {
  const rows = fieldsBelow(schema).map((field) => {
    const cells = [typeOf(field.schema), defaultOf(field), effectOf(field.schema)].map(cell);
    return `| \`${field.path}\` | ${cells.join(" | ")} |`;
  });
  return ["| Field | Type and bounds | Default | Effect |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

/** A list of the patterns and rules that values at or below a schema must match. */
export function ruleLines(schema: Schema, place: string): readonly string[] {
  const own = schema.pattern === undefined ? [] : [`- \`${place}\` matches ${code(schema.pattern)}.`];
  const rules = (schema["x-kubernetes-validations"] ?? []).map(
    ({ message, fieldPath = "" }) => `- \`${place}${fieldPath}\`: ${message}.`,
  );
  return [...own, ...rules, ...childrenOf(schema).flatMap(({ path, schema: below }) => ruleLines(below, place + path))];
}

function fieldsBelow(schema: Schema, prefix = ""): readonly Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, below]) => {
    const path = `${prefix}${name}${suffixOf(below)}`;
    const isRequired = schema.required?.includes(name) === true;
    const inner = below.type === "array" ? below.items : below;
    return [{ path, schema: below, isRequired }, ...(inner === undefined ? [] : fieldsBelow(inner, `${path}.`))];
  });
}

function childrenOf(schema: Schema): readonly { readonly path: string; readonly schema: Schema }[] {
  const named = Object.entries(schema.properties ?? {}).map(([name, below]) => ({ path: `.${name}`, schema: below }));
  const items = schema.items === undefined ? [] : [{ path: "[]", schema: schema.items }];
  const values = schema.additionalProperties === undefined ? [] : [{ path: ".*", schema: schema.additionalProperties }];
  return [...named, ...items, ...values];
}

const suffixOf = ({ type }: Schema): string => (type === "array" ? "[]" : "");

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(code).join(", ");
  if (schema.type === "array") return listOf(schema);
  if (schema.type === "object") return objectOf(schema);
  if (schema.type === "string") return stringOf(schema);
  return schema.type === "boolean" ? "boolean" : `${schema.type}${between(schema.minimum, schema.maximum, "")}`;
}

function listOf({ items, minItems, maxItems }: Schema): string {
  return `list${between(minItems, maxItems, " items")}${items === undefined ? "" : `; each: ${typeOf(items)}`}`;
}

function objectOf({ additionalProperties: values, maxProperties }: Schema): string {
  return values === undefined
    ? "object"
    : `map${between(undefined, maxProperties, " entries")}; each: ${typeOf(values)}`;
}

function stringOf({ format, minLength, maxLength }: Schema): string {
  return format === "date-time" ? "time, ISO 8601" : `string${between(minLength, maxLength, " characters")}`;
}

function between(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return "";
  if (least === undefined) return `, at most ${most}${unit}`;
  return most === undefined ? `, at least ${least}${unit}` : `, ${least} to ${most}${unit}`;
}

function defaultOf({ schema, isRequired }: Field): string {
  if (schema.default !== undefined) return code(JSON.stringify(schema.default));
  return isRequired ? "required" : "none";
}

function effectOf({ description = "", items }: Schema): string {
  const inner = items?.properties === undefined ? items?.description : undefined;
  return inner === undefined ? description : `${description} ${inner}`;
}

const code = (text: string): string => (text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);
const cell = (text: string): string => text.replaceAll("|", String.raw`\|`);
