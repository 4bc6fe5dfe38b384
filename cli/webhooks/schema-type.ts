import { isPlain, type Plain } from "../../crds/event-schema/keywords.ts";

const typeWords = ["string", "integer", "number", "boolean", "object", "array", "null"] as const;
type TypeWord = (typeof typeWords)[number];

/** Constraints that a type cannot express, in the order of the comment. */
const notes: readonly string[] = ["format", "pattern", "multipleOf", "uniqueItems"].concat(
  ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"],
  ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
);
const identifier = /^[A-Za-z_$][\w$]*$/u;

/** Gives each declaration of a file its own name. */
export interface DeclaredNames {
  take(wanted: string): string;
}

/** Writes the TypeScript type of one schema, and declarations of its definitions. */
export class SchemaType {
  readonly definitions: string[] = [];
  readonly #document: Plain;
  readonly #prefix: string;
  readonly #names: DeclaredNames;
  readonly #known = new Map<string, string>();

  constructor(document: Plain, prefix: string, names: DeclaredNames) {
    this.#document = document;
    this.#prefix = prefix;
    this.#names = names;
  }

  /** @param inherited types of the schema around a branch, which apply to the branch too */
  typeOf(schema: unknown, indent: string, inherited?: readonly TypeWord[]): string {
    if (!isPlain(schema)) return "unknown";
    const { $ref } = schema;
    if (typeof $ref === "string") return this.#definition($ref.slice("#/$defs/".length));
    const types = typesOf(schema) ?? inherited;
    const own = this.#ownType(schema, indent, types);
    const all = listOf(schema, "allOf").map((one) => this.typeOf(one, indent, types));
    const either = ["anyOf", "oneOf"].flatMap((keyword) => {
      const branches = listOf(schema, keyword).map((one) => this.typeOf(one, indent, types));
      return branches.length === 0 ? [] : [unionOf(branches)];
    });
    return intersectionOf([own, ...all, ...either]);
  }

  #ownType(schema: Plain, indent: string, types: readonly TypeWord[] | undefined): string {
    const values = valuesOf(schema);
    if (values !== undefined) return literals(schema, values, types);
    if (types === undefined) return "unknown";
    return unionOf(types.map((type) => this.#oneType(type, schema, indent)));
  }

  #oneType(type: TypeWord, schema: Plain, indent: string): string {
    if (type === "object") return this.#object(schema, indent);
    if (type === "array") return `${grouped(this.typeOf(schema["items"] ?? true, indent))}[]`;
    return type === "integer" ? "number" : type;
  }

  #object(schema: Plain, indent: string): string {
    const properties = Object.entries(isPlain(schema["properties"]) ? schema["properties"] : {});
    const required = new Set(listOf(schema, "required"));
    const inner = `${indent}  `;
    const members = properties.map(([name, one]) => ({
      name,
      isRequired: required.delete(name),
      type: this.typeOf(one, inner),
      comment: comment(inner, commentOf(one)),
    }));
    // Branches may require what the schema around them declares.
    const others = [...required].map((name) => ({
      name: String(name),
      isRequired: true,
      type: "unknown",
      comment: [],
    }));
    const lines = [...members, ...others].flatMap(({ name, isRequired, type, comment: text }) => [
      ...text,
      `${inner}${identifier.test(name) ? name : JSON.stringify(name)}${isRequired ? "" : "?"}: ${type};`,
    ]);
    const index = this.#indexType(schema, members, inner);
    if (lines.length === 0)
      return `Record<string, ${index ?? (schema["additionalProperties"] === false ? "never" : "unknown")}>`;
    if (index !== undefined) lines.push(`${inner}[key: string]: ${index};`);
    return `{\n${lines.join("\n")}\n${indent}}`;
  }

  /** An index signature covers the declared members too. */
  #indexType(
    { additionalProperties: others }: Plain,
    members: readonly { readonly type: string; readonly isRequired: boolean }[],
    indent: string,
  ): string | undefined {
    if (others === true) return "unknown";
    if (!isPlain(others)) return undefined;
    const optional = members.some(({ isRequired }) => !isRequired) ? ["undefined"] : [];
    return unionOf([this.typeOf(others, indent), ...members.map(({ type }) => type), ...optional]);
  }

  #definition(name: string): string {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const own = this.#names.take(`${this.#prefix}${pascal(name)}`);
    this.#known.set(name, own);
    const schema = this.#target(name);
    const written = this.typeOf(schema, "");
    this.definitions.push(...comment("", commentOf(schema)), `export type ${own} = ${written};`, "");
    return own;
  }

  #target(name: string): unknown {
    const definitions = this.#document["$defs"];
    return isPlain(definitions) ? definitions[name] : undefined;
  }
}

/** `payout.processed` → `PayoutProcessed` */
export function pascal(text: string): string {
  const parts = text.split(/[^A-Za-z0-9]+/u).filter(Boolean);
  const name = parts.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join("");
  return /^[A-Za-z]/u.test(name) ? name : `Event${name}`;
}

function typesOf({ type }: Plain): readonly TypeWord[] | undefined {
  if (type === undefined) return undefined;
  const words: readonly unknown[] = Array.isArray(type) ? type : [type];
  return typeWords.filter((word) => words.includes(word));
}

function valuesOf(schema: Plain): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
}

/** The values that the types permit. An open enumeration may gain values, so it permits all values of its types. */
function literals(schema: Plain, values: readonly unknown[], types: readonly TypeWord[] | undefined): string {
  const fitting = values.filter((value) => types === undefined || types.some((type) => isOf(type, value)));
  const texts = [...new Set(fitting.map((value) => JSON.stringify(value)))];
  if (schema["x-open-enum"] !== true) return unionOf(texts);
  if (types === undefined) return "unknown";
  const open = types.map((type) => (type === "string" ? "(string & {})" : scalarWord(type)));
  return unionOf([...texts, ...open]);
}

const scalarWord = (type: TypeWord): string =>
  ({ integer: "number", object: "Record<string, unknown>", array: "unknown[]" })[type as "integer"] ?? type;

function isOf(type: TypeWord, value: unknown): boolean {
  if (value === null) return type === "null";
  return typeof value === "number"
    ? type === "number" || (type === "integer" && Number.isInteger(value))
    : typeof value === type;
}

function unionOf(types: readonly string[]): string {
  const different = [...new Set(types)];
  if (different.includes("unknown")) return "unknown";
  return different.length === 1 ? (different[0] ?? "never") : different.map(grouped).join(" | ") || "never";
}

/** `unknown` adds nothing to an intersection. */
function intersectionOf(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== "unknown");
  return different.length < 2 ? (different[0] ?? "unknown") : different.map(grouped).join(" & ");
}

/** Puts a union or intersection in parentheses, and an object type with one inside. */
function grouped(type: string): string {
  return /[|&]/u.test(type) && !/^\([^()]*\)$/u.test(type) ? `(${type})` : type;
}

function commentOf(schema: unknown): readonly string[] {
  if (!isPlain(schema)) return [];
  const described = [textOf(schema, "description") ?? textOf(schema, "title")];
  const bounds = notes.flatMap((keyword) =>
    schema[keyword] === undefined ? [] : [`@${keyword} ${noteText(schema[keyword])}`],
  );
  return [
    ...described.filter((one) => one !== undefined),
    ...bounds,
    ...(schema["deprecated"] === true ? ["@deprecated"] : []),
  ];
}

const noteText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A documentation comment, which no text can end early. */
export function comment(indent: string, texts: readonly (string | undefined)[]): readonly string[] {
  const lines = texts.flatMap((text) =>
    text === undefined ? [] : text.replaceAll("*/", "*\\/").split(/\r\n|[\n\r\u2028\u2029]/u),
  );
  if (lines.length === 0) return [];
  const [only = ""] = lines;
  if (lines.length === 1) return [`${indent}/** ${only} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

export function textOf(schema: Plain, name: string): string | undefined {
  const value = schema[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function listOf(schema: Plain, name: string): readonly unknown[] {
  const value = schema[name];
  return Array.isArray(value) ? value : [];
}
