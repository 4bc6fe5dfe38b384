// JSON Schemas of events: their permitted keywords, validation of data, and compatibility of two schemas.

import { LongNumber } from "./long-number.ts";
import type { Pattern } from "./pattern.ts";

/** Bits of {@link SchemaNode.types}. */
export const typeBits = {
  string: 1,
  integer: 2,
  number: 4,
  boolean: 8,
  object: 16,
  array: 32,
  null: 64,
} as const;
export type TypeName = keyof typeof typeBits;

/** A value that `enum`, `const` and the items of `uniqueItems` may have. */
export type Scalar = string | number | boolean | null;

/** One schema of a document. A `$ref` is replaced by its target, so nodes may be shared; they never form a ring. */
export interface SchemaNode {
  /** JSON pointer of the schema in its document. */
  readonly pointer: string;
  /** Permitted types as {@link typeBits}; undefined permits every type. */
  readonly types: number | undefined;
  /** Permitted values. `const` is a list of one value. */
  readonly values: ReadonlySet<Scalar> | undefined;
  /** True for an enumeration that may gain values within a version. */
  readonly isOpenEnum: boolean;
  /** Bounds and marks that a validator compares with, by keyword. */
  readonly bounds: Bounds;
  readonly pattern: Pattern | undefined;
  readonly format: string | undefined;
  readonly items: SchemaNode | undefined;
  readonly properties: ReadonlyMap<string, SchemaNode> | undefined;
  readonly required: readonly string[];
  /** Of members that `properties` does not name. */
  readonly additional: boolean | SchemaNode;
  readonly allOf: readonly SchemaNode[] | undefined;
  readonly anyOf: readonly SchemaNode[] | undefined;
  readonly oneOf: readonly SchemaNode[] | undefined;
}

/** Keywords with a number, and `uniqueItems`. */
export interface Bounds {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
}

/** A schema that permits every value. */
export function emptyNode(pointer: string): SchemaNode {
  return {
    pointer,
    types: undefined,
    values: undefined,
    isOpenEnum: false,
    bounds: noBounds,
    pattern: undefined,
    format: undefined,
    items: undefined,
    properties: undefined,
    required: [],
    additional: true,
    allOf: undefined,
    anyOf: undefined,
    oneOf: undefined,
  };
}

/** The bounds of a schema without any. */
export const noBounds: Bounds = {};

/** True for a node whose branches decide together with its own keywords. */
export function hasBranches({ allOf, anyOf, oneOf }: SchemaNode): boolean {
  return (allOf ?? anyOf ?? oneOf) !== undefined;
}

/** True for a schema that permits neither objects nor lists. */
export function isOfScalars(node: SchemaNode | undefined): boolean {
  const structured = typeBits.object | typeBits.array;
  return node?.types !== undefined && (node.types & structured) === 0;
}

/** A JSON pointer with one more segment. Source: RFC 6901 §3. */
export function below(pointer: string, segment: string | number): string {
  return `${pointer}/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** A place of a schema or of data, and what is wrong there. */
export interface PointerProblem {
  /** JSON pointer; empty for the root. */
  readonly pointer: string;
  /** One sentence without the pointer. */
  readonly detail: string;
}

/** A schema and all schemas within it, each once. */
export function nodesBelow(root: SchemaNode): ReadonlySet<SchemaNode> {
  const nodes = new Set([root]);
  // A set also iterates over what is added on the way.
  for (const { properties, items, additional, allOf = [], anyOf = [], oneOf = [] } of nodes)
    for (const one of [...(properties?.values() ?? []), ...allOf, ...anyOf, ...oneOf, items, additional])
      if (typeof one === "object") nodes.add(one);
  return nodes;
}

/** True for a value of one of the types. */
export function isOfType(value: unknown, types: number): boolean {
  if (typeof value === "string") return (types & typeBits.string) !== 0;
  if (typeof value === "boolean") return (types & typeBits.boolean) !== 0;
  if (value instanceof LongNumber) return isOfNumberType(types, value.isInteger);
  if (typeof value === "object") return (types & structureBit(value)) !== 0;
  return isOfNumberType(types, Number.isInteger(value));
}

function isOfNumberType(types: number, isInteger: boolean): boolean {
  return (types & typeBits.number) !== 0 || (isInteger && (types & typeBits.integer) !== 0);
}

function structureBit(value: unknown): number {
  if (value === null) return typeBits.null;
  return Array.isArray(value) ? typeBits.array : typeBits.object;
}

/** Names of types in a sentence. */
export function typeWords(types: number): string {
  const names = Object.entries(typeBits).flatMap(([name, bit]) => ((types & bit) === 0 ? [] : [name]));
  return `of type ${names.join(" or ")}`;
}
