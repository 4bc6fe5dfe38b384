import { stringify } from "yaml";
import type { Schema } from "../tools/definition-schema.ts";
import { definitionFiles, readDefinition, specSchema } from "../tools/resource-types.ts";

/** One object of a spec: the fields that lead to it, with `[]` for the items of a list, and its schema. */
interface Place {
  readonly steps: readonly string[];
  readonly schema: Schema;
}

/** One generated file of the chart. */
interface ChartFile {
  /** Path from the chart's folder. */
  readonly path: string;
  readonly text: string;
}

const notice = "# Generated from the definitions in crds/ by `npm run generate`. Edit those instead.\n";
const item = "[]";

/** The files of `files/known-fields/`, as they should be: one per kind. */
export function knownFieldsFiles(): readonly ChartFile[] {
  return definitionFiles.map((file) => {
    const definition = readDefinition(file);
    const places = placesOf({ steps: [], schema: specSchema(definition) });
    const unknown = places.map((place) => ({ place: nameOf(place), expression: unknownAt(place) }));
    const body = { resource: `${definition.spec.names.kind.toLowerCase()}s`, unknown };
    return { path: `files/known-fields/${file}.yaml`, text: notice + stringify(body, { lineWidth: 0 }) };
  });
}

/** A place and all places below it. A map, whose keys are data, has no fields of its own. */
function placesOf({ steps, schema }: Place): readonly Place[] {
  if (schema.items !== undefined) return placesOf({ steps: [...steps, item], schema: schema.items });
  if (schema.properties === undefined) return [];
  const below = Object.entries(schema.properties);
  return [
    { steps, schema },
    ...below.flatMap(([name, property]) => placesOf({ steps: [...steps, name], schema: property })),
  ];
}

const nameOf = ({ steps }: Place): string => ["spec", ...steps].join(".").replaceAll(`.${item}`, item);

/** CEL that lists what a spec has at a place and the schema has not, as text; empty when there is nothing. */
function unknownAt({ steps, schema }: Place): string {
  const from = (node: string, [step, ...rest]: readonly string[], depth: number): string => {
    if (step === undefined) return `(${unknownOf(node, schema)}).join(', ')`;
    if (step !== item) return `(${quoted(step)} in ${node} ? ${from(`${node}[${quoted(step)}]`, rest, depth)} : '')`;
    const one = `i${depth}`;
    return `${node}.map(${one}, ${from(one, rest, depth + 1)}).filter(t, t != '').join(', ')`;
  };
  return from("variables.spec", steps, 0);
}

/** CEL of a list: unknown fields of an object, and unknown words of its enumerations. */
function unknownOf(node: string, { properties = {} }: Schema): string {
  const fields = `${node}.filter(f, !(f in ${listOf(Object.keys(properties))}))`;
  const words = Object.entries(properties).flatMap(([name, { enum: own, items }]) => {
    const known = listOf(own ?? items?.enum ?? []);
    const value = `${node}[${quoted(name)}]`;
    const shown = (word: string): string => `${quoted(`${name}: `)} + ${word}`;
    if (own !== undefined) return `(${quoted(name)} in ${node} && !(${value} in ${known}) ? [${shown(value)}] : [])`;
    if (items?.enum === undefined) return [];
    return `(${quoted(name)} in ${node} ? ${value}.filter(w, !(w in ${known})).map(w, ${shown("w")}) : [])`;
  });
  return [fields, ...words].join(" + ");
}

const quoted = (text: string): string => `'${text}'`;
const listOf = (words: readonly string[]): string => `[${words.map(quoted).join(", ")}]`;
