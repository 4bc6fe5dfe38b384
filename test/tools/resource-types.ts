import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import type { Kind } from "../../crds/resource.ts";
import type { Schema } from "./definition-schema.ts";

/** One generated file: path from the root, and its text. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

/** What the generator reads of a CustomResourceDefinition. */
interface Definition {
  readonly spec: {
    readonly names: { readonly kind: Kind };
    readonly versions: readonly [
      {
        readonly additionalPrinterColumns: readonly { readonly name: string }[];
        readonly schema: { readonly openAPIV3Schema: Schema };
      },
    ];
  };
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** File names of the definitions in `crds/`, without `.yaml`. */
export const definitionFiles = ["event-catalog", "metric-catalog", "query-class-quota", "webhook-partner"] as const;

const notice = "// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.\n";

/** Columns of a line. */
const columnsMax = 120;

/** Reads one definition of `crds/`. */
export function readDefinition(file: (typeof definitionFiles)[number]): Definition {
  return parse(readFileSync(`${root}/crds/${file}.yaml`, "utf8")) as Definition;
}

/** The schema of a definition's `spec`. */
export function specSchema(definition: Definition): Schema {
  const schema = definition.spec.versions[0].schema.openAPIV3Schema.properties?.["spec"];
  if (schema === undefined) throw new Error(`${definition.spec.names.kind} has no spec`);
  return schema;
}

/** The schema of each kind's `spec` as its definition has it. */
export const specSchemas = Object.fromEntries(
  definitionFiles.map(readDefinition).map((definition) => [definition.spec.names.kind, specSchema(definition)]),
) as Readonly<Record<Kind, Schema>>;

/** Every file of `crds/types/`, as it should be. */
export function generatedFiles(): readonly GeneratedFile[] {
  const types = definitionFiles.map((file) => {
    const definition = readDefinition(file);
    return { path: `crds/types/${file}.ts`, text: typesText(definition.spec.names.kind, specSchema(definition)) };
  });
  const schemas = Object.entries(specSchemas).map(([kind, spec]) => [kind, validated(spec)] as const);
  return [
    ...types,
    { path: "crds/types/schemas.ts", text: schemasText() },
    { path: "crds/types/schemas.json", text: `${JSON.stringify(Object.fromEntries(schemas), null, 2)}\n` },
  ];
}

function schemasText(): string {
  const kinds = JSON.stringify(Object.keys(specSchemas)).replaceAll(",", ", ");
  return `${notice}
import schemas from "./schemas.json" with { type: "json" };

/** Kinds of resources. */
export const kinds = ${kinds} as const;

/** What Ajv reads of the schema of each kind's \`spec\`. An object has only the properties that are listed. */
export const specSchemas: Readonly<Record<(typeof kinds)[number], object>> = schemas;
`;
}

/** Without descriptions and CEL rules, which have twins in `crds/checks/`; unknown fields are rejected explicitly. */
function validated({ description: _text, "x-kubernetes-validations": _rules, ...schema }: Schema): object {
  const { items, properties, additionalProperties, "x-kubernetes-preserve-unknown-fields": _open, ...rest } = schema;
  const members = Object.entries(properties ?? {}).map(([name, property]) => [name, validated(property)] as const);
  return {
    ...rest,
    ...(items === undefined ? {} : { items: validated(items) }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(members) }),
    ...(schema.type === "object" && schema["x-kubernetes-preserve-unknown-fields"] !== true
      ? { additionalProperties: additionalProperties === undefined ? false : validated(additionalProperties) }
      : {}),
  };
}

/**
 * One interface for each object of a spec, named by kind and path with lists in the singular. Schemas that are equal
 * share the first one's interface. The types describe objects after defaulting: a property with a default is always
 * there.
 */
function typesText(kind: string, spec: Schema): string {
  const interfaces = new Map<string, { readonly name: string; readonly text: string }>();
  const typeOf = (schema: Schema, name: string): string => {
    if (schema.type === "array") return `readonly ${itemType(schema, name)}[]`;
    if (schema.type !== "object") return scalarType(schema);
    if (schema["x-kubernetes-preserve-unknown-fields"] === true) return "Readonly<Record<string, unknown>>";
    const values = schema.additionalProperties;
    return values === undefined ? interfaceOf(schema, name) : `Readonly<Record<string, ${typeOf(values, name)}>>`;
  };
  const itemType = (schema: Schema, name: string): string => {
    if (schema.items === undefined) throw new Error(`${name} is a list without items`);
    const item = typeOf(schema.items, name.replace(/s$/u, ""));
    return item.includes(" ") ? `(${item})` : item;
  };
  const interfaceOf = (schema: Schema, name: string): string => {
    const identity = JSON.stringify(schema);
    const known = interfaces.get(identity);
    if (known !== undefined) return known.name;
    interfaces.set(identity, { name, text: "" });
    interfaces.set(identity, { name, text: interfaceText(schema, name, typeOf) });
    return name;
  };
  interfaceOf(spec, `${kind}Spec`);
  return `${notice}\n${[...interfaces.values()].map(({ text }) => text).join("\n")}`;
}

function interfaceText(schema: Schema, name: string, typeOf: (schema: Schema, name: string) => string): string {
  const parent = name.replace(/Spec$/u, "");
  const lines = Object.entries(schema.properties ?? {}).flatMap(([property, below]) => {
    const present = below.default !== undefined || schema.required?.includes(property) === true;
    const type = typeOf(below, `${parent}${property.slice(0, 1).toUpperCase()}${property.slice(1)}`);
    const line = `  readonly ${property}${present ? "" : "?"}: ${type};`;
    return [...comment(below, "  "), line.length <= columnsMax ? line : broken(line)];
  });
  return [...comment(schema, ""), `export interface ${name} {`, ...lines, "}", ""].join("\n");
}

/** A property with a list of many words, one word a line. */
function broken(line: string): string {
  return line.replaceAll(" | ", "\n    | ").replace("(", "(\n    | ").replace(")[]", "\n  )[]");
}

function scalarType(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  return schema.type === "integer" ? "number" : schema.type;
}

/** A comment of a property or an object, in lines of at most 120 columns. */
function comment(schema: Schema, indent: string): readonly string[] {
  const words = schema.description ?? "";
  const text = schema.default === undefined ? words : `${words} @default ${JSON.stringify(schema.default)}`;
  const whole = `${indent}/** ${text} */`;
  if (whole.length <= columnsMax) return [whole];
  const lines = [`${indent} *`];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length <= columnsMax) lines[lines.length - 1] = longer;
    else lines.push(`${indent} * ${word}`);
  }
  return [`${indent}/**`, ...lines, `${indent} */`];
}
