import type { JsonSchema } from "../../api/schemas.ts";

/** Keywords of a schema that a page shows. */
interface Keywords {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly additionalProperties?: JsonSchema | boolean;
}

/** The description of a schema; empty without one. */
export const descriptionOf = (schema: JsonSchema): string => (schema as Keywords).description ?? "";

/** The name of a heading as GitHub links to it. */
export const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/gu, "")
    .replaceAll(" ", "-");

/** Escapes what would end a cell of a table. */
export const cell = (text: string): string => text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");

/** What a value has to be, in a few words; references are links to the headings of their schemas. */
export function typeText(schema: JsonSchema): string {
  if (typeof schema["$ref"] === "string") return `[${schema["$ref"]}](#${anchorOf(schema["$ref"])})`;
  if (Array.isArray(schema["enum"])) return schema["enum"].map((word) => `\`${String(word)}\``).join(", ");
  if ("const" in schema) return `\`${String(schema["const"])}\``;
  const either = (schema["anyOf"] ?? schema["oneOf"]) as readonly JsonSchema[] | undefined;
  if (either !== undefined && schema["properties"] === undefined) return either.map(typeText).join(" or ");
  return plainType(schema);
}

/** Rows of a table of the members of an object; members of nested objects follow with their path. */
export function memberRows(schema: JsonSchema, prefix = ""): readonly string[] {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).flatMap(([name, member]) => {
    const isList = member["type"] === "array";
    const path = `${prefix}${name}${isList ? "[]" : ""}`;
    const isRequired = required.includes(name) ? "yes" : "no";
    const row = `| \`${path}\` | ${cell(typeText(member))} | ${isRequired} | ${cell(descriptionOf(member))} |`;
    return [row, ...memberRows(isList ? ((member["items"] ?? {}) as JsonSchema) : member, `${path}.`)];
  });
}

function plainType(schema: JsonSchema): string {
  const keywords = schema as Keywords;
  const type = [keywords.type ?? "any"].flat().join(" or ");
  if (type === "array") return arrayText(keywords);
  if (type === "object") return objectText(keywords);
  const bounds = [
    boundText(keywords.minimum, keywords.maximum, ""),
    boundText(keywords.minLength, keywords.maxLength, " characters"),
    keywords.format === undefined ? "" : `format ${keywords.format}`,
    keywords.default === undefined ? "" : `default ${JSON.stringify(keywords.default)}`,
    keywords.pattern === undefined || keywords.format !== undefined ? "" : `pattern \`${keywords.pattern}\``,
  ];
  return [type, ...bounds.filter((bound) => bound !== "")].join(", ");
}

function arrayText({ prefixItems, items = {}, minItems, maxItems }: Keywords): string {
  if (prefixItems !== undefined) return `[${prefixItems.map(typeText).join(", ")}]`;
  const bounds = boundText(minItems, maxItems, " items");
  return `list of ${typeText(items)}${bounds === "" ? "" : `, ${bounds}`}`;
}

function objectText({ additionalProperties: values }: Keywords): string {
  return typeof values === "object" ? `map to ${typeText(values)}` : "object";
}

function boundText(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return "";
  if (least === undefined) return `at most ${most}${unit}`;
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`;
}
