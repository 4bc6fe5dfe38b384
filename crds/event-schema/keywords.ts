import type { LongNumber } from "./long-number.ts";
import { below, type Bounds, type Scalar, typeBits } from "./schema-node.ts";

/** Keywords that describe and check nothing. Source: JSON Schema 2020-12, meta-data vocabulary. */
export const annotations: ReadonlySet<string> = new Set([
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);
const numberBounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;
const countBounds = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const;
export const branches = ["allOf", "anyOf", "oneOf"] as const;
export const rootKeywords: ReadonlySet<string> = new Set(["$schema", "$defs"]);
const checkedKeywords: ReadonlySet<string> = new Set([
  "$ref",
  "type",
  "enum",
  "const",
  "x-open-enum",
  "pattern",
  "format",
  "multipleOf",
  "uniqueItems",
  "items",
  "properties",
  "required",
  "additionalProperties",
  ...numberBounds,
  ...countBounds,
  ...branches,
]);

/** Every keyword that a schema may have, in alphabetical order. */
export const eventKeywords: readonly string[] = [...rootKeywords, ...checkedKeywords, ...annotations].sort();

interface BoundRule {
  readonly keyword: keyof Bounds;
  readonly isValid: (value: unknown) => boolean;
  readonly mustBe: string;
  /** The value that bounds nothing. */
  readonly none?: unknown;
}

export const boundRules: readonly BoundRule[] = [
  ...numberBounds.map((keyword) => ({
    keyword,
    isValid: isKeptNumber,
    mustBe: "a number between -9007199254740991 and 9007199254740991, because larger ones lose digits",
  })),
  ...countBounds.map((keyword) => ({
    keyword,
    isValid: (value: unknown) => isWhole(value, 0),
    mustBe: "a whole number of at least 0",
    ...(keyword.startsWith("min") ? { none: 0 } : {}),
  })),
  // The remainder of a fraction is not exact.
  { keyword: "multipleOf", isValid: (value) => isWhole(value, 1), mustBe: "a whole number of at least 1" },
  { keyword: "uniqueItems", isValid: (value) => typeof value === "boolean", mustBe: "true or false", none: false },
];

/** A bound of a number: when it holds, and its words. */
interface NumberRule {
  readonly keyword: keyof Bounds;
  readonly holds: (value: number, bound: number) => boolean;
  /** The same for a number that a double would round. */
  readonly holdsExactly: (value: LongNumber, bound: number) => boolean;
  readonly words: string;
}

export const numberRules: readonly NumberRule[] = [
  {
    keyword: "minimum",
    holds: (value, bound) => value >= bound,
    holdsExactly: (value, bound) => value.compare(bound) > 0,
    words: "at least",
  },
  {
    keyword: "maximum",
    holds: (value, bound) => value <= bound,
    holdsExactly: (value, bound) => value.compare(bound) < 0,
    words: "at most",
  },
  {
    keyword: "exclusiveMinimum",
    holds: (value, bound) => value > bound,
    holdsExactly: (value, bound) => value.compare(bound) > 0,
    words: "greater than",
  },
  {
    keyword: "exclusiveMaximum",
    holds: (value, bound) => value < bound,
    holdsExactly: (value, bound) => value.compare(bound) < 0,
    words: "less than",
  },
  {
    keyword: "multipleOf",
    holds: (value, bound) => value % bound === 0,
    holdsExactly: (value, bound) => value.isMultipleOf(bound),
    words: "a multiple of",
  },
];

/** A type of a catalog with the schemas of its versions. */
interface VersionedType {
  readonly type: string;
  readonly versions: readonly { readonly version: string; readonly schema: unknown }[];
}

/** Why a pod cannot apply a catalog: a later version of the operator may permit further keywords. */
export function unsupportedSchema(types: readonly VersionedType[]): string | undefined {
  for (const { type, versions } of types) {
    for (const { version, schema } of versions) {
      const keyword = unknownKeyword(schema);
      if (keyword !== undefined)
        return `this version of the runtime does not support ${keyword} in the schema of version ${version} of ${type}`;
    }
  }
  return undefined;
}

/**
 * The JSON pointer of the first keyword of a schema that this version does not know; undefined without one. It is
 * cheaper than {@link parseSchema}, so that a pod can check a whole catalog when it is applied.
 */
export function unknownKeyword(schema: unknown): string | undefined {
  const pending: (readonly [unknown, string])[] = [[schema, ""]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, pointer] = next;
    if (!isPlain(node)) return pointer;
    for (const keyword of Object.keys(node)) {
      if (!isKnown(keyword, pointer)) return below(pointer, keyword);
      pending.push(...schemasIn(keyword, node[keyword], below(pointer, keyword)));
    }
  }
  return undefined;
}

export function isKnown(keyword: string, pointer: string): boolean {
  return checkedKeywords.has(keyword) || annotations.has(keyword) || (pointer === "" && rootKeywords.has(keyword));
}

/** The schemas in the value of a keyword, with their pointers. */
function schemasIn(keyword: string, value: unknown, pointer: string): readonly (readonly [unknown, string])[] {
  if (keyword === "items" || (keyword === "additionalProperties" && typeof value === "object"))
    return [[value, pointer]];
  if (keyword !== "properties" && keyword !== "$defs" && !branches.includes(keyword as "allOf")) return [];
  return Object.entries(Object(value)).map(([name, one]) => [one, below(pointer, name)]);
}

export type Plain = Readonly<Record<string, unknown>>;

/** True for an object that is no list. */
export function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for a whole number that JSON parsers read alike. */
export function isWhole(value: unknown, min: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= min;
}

/** True for a number that has all its digits in every JSON and YAML parser. */
function isKeptNumber(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

/** True for the name of a type. */
export function isTypeName(name: unknown): name is keyof typeof typeBits {
  return typeof name === "string" && Object.hasOwn(typeBits, name);
}

/** True for a value that an enumeration may list. */
export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === "string" || typeof value === "boolean" || isKeptNumber(value);
}

/** True for a list of different texts. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string") && new Set(value).size === value.length;
}
