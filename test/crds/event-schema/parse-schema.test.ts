import { describe, expect, test } from "vitest";
import { unknownKeyword } from "../../../crds/event-schema/keywords.ts";
import { parseSchema } from "../../../crds/event-schema/parse-schema.ts";

const inside = (properties: Readonly<Record<string, unknown>>, more: object = {}) => ({
  type: "object",
  properties,
  ...more,
});
const nested = (levels: number): object => (levels === 0 ? { type: "string" } : { items: nested(levels - 1) });

describe("parseSchema", () => {
  test.each<readonly [says: string, schema: Readonly<Record<string, unknown>>, problem: string | undefined]>([
    ["an object without properties", { type: "object" }, undefined],
    [
      "its draft, texts for readers and definitions",
      {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        title: "t",
        type: "object",
        $defs: { money: { type: "integer" } },
        properties: { amount: { $ref: "#/$defs/money", description: "d" } },
      },
      undefined,
    ],
    [
      "another draft",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "object" },
      "/$schema: $schema must be https://json-schema.org/draft/2020-12/schema",
    ],
    ["data that may be a text", { type: ["object", "string"] }, ": the type of data must be object"],
    ["no type of data", {}, ": the type of data must be object"],
    [
      "a keyword that is not listed",
      inside({ a: { if: {} } }),
      "/properties/a/if: the keyword if is not supported here",
    ],
    [
      "definitions below the root",
      inside({ a: { $defs: {} } }),
      "/properties/a/$defs: the keyword $defs is not supported here",
    ],
    [
      "a schema of another document",
      inside({ a: { $ref: "https://example.org/a.json" } }),
      "/properties/a/$ref: $ref must be #/$defs/NAME; other documents are never read",
    ],
    [
      "a schema of this document that is no definition",
      inside({ a: { $ref: "#/properties/a" } }),
      "/properties/a/$ref: $ref must be #/$defs/NAME; other documents are never read",
    ],
    ["a missing definition", inside({ a: { $ref: "#/$defs/b" } }), "/properties/a/$ref: $defs has no b"],
    [
      "a definition of itself",
      inside({ a: { $ref: "#/$defs/b" } }, { $defs: { b: { items: { $ref: "#/$defs/b" } } } }),
      "/$defs/b/items/$ref: the definition b refers to itself; data must be finite",
    ],
    [
      "a keyword next to a reference",
      inside({ a: { $ref: "#/$defs/b", minimum: 1 } }, { $defs: { b: {} } }),
      "/properties/a: $ref allows no other keyword next to it: minimum",
    ],
    [
      "a type that JSON does not have",
      inside({ a: { type: "date" } }),
      "/properties/a/type: type must be of string, integer, number, boolean, object, array, null",
    ],
    [
      "an enumeration of objects",
      inside({ a: { enum: [{}] } }),
      "/properties/a/enum: values must be texts, numbers that keep their digits, booleans or null",
    ],
    ["a constant null", inside({ a: { const: null } }), undefined],
    [
      "an open constant",
      inside({ a: { const: 1, "x-open-enum": true } }),
      "/properties/a/x-open-enum: x-open-enum is true or false, next to enum",
    ],
    [
      "a bound that is a text",
      inside({ a: { minimum: "1" } }),
      "/properties/a/minimum: minimum must be a number between -9007199254740991 and 9007199254740991, because larger ones lose digits",
    ],
    [
      "a negative length",
      inside({ a: { minLength: -1 } }),
      "/properties/a/minLength: minLength must be a whole number of at least 0",
    ],
    [
      "a multiple of a fraction",
      inside({ a: { multipleOf: 0.1 } }),
      "/properties/a/multipleOf: multipleOf must be a whole number of at least 1",
    ],
    [
      "different objects",
      inside({ a: { uniqueItems: true, items: { type: "object" } } }),
      "/properties/a/uniqueItems: uniqueItems needs items whose type is string, integer, number or boolean",
    ],
    [
      "different items of any type",
      inside({ a: { uniqueItems: true } }),
      "/properties/a/uniqueItems: uniqueItems needs items whose type is string, integer, number or boolean",
    ],
    ["different texts", inside({ a: { uniqueItems: true, items: { type: "string" } } }), undefined],
    [
      "a required name without a schema",
      inside({}, { required: ["a"] }),
      "/required: required names a, which properties does not declare",
    ],
    [
      "alternatives that require what is around them",
      inside({ a: {}, b: {} }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
      undefined,
    ],
    [
      "a number of members without a schema for them",
      inside({}, { maxProperties: 3 }),
      ": minProperties and maxProperties need a schema in additionalProperties",
    ],
    ["a simple pattern of any length", inside({ a: { pattern: "^[a-z0-9-]+$" } }), undefined],
    [
      "a pattern with a group and no maxLength",
      inside({ a: { pattern: "^(a+)+$" } }),
      "/properties/a/pattern: this pattern needs a maxLength of at most 1024 next to it",
    ],
    ["a pattern with a group and a maxLength", inside({ a: { pattern: "^(a+)+$", maxLength: 28 } }), undefined],
    [
      "a pattern with a back-reference",
      inside({ a: { pattern: String.raw`^(a)\1$`, maxLength: 28 } }),
      "/properties/a/pattern: the pattern must be an RE2 expression, which has no look-around and no back-references",
    ],
    [
      "a pattern of too many instructions",
      inside({ a: { pattern: "^([a-z]{1,20}-){1,30}$", maxLength: 28 } }),
      "/properties/a/pattern: the pattern is too large; repeat less",
    ],
    ["the deepest schema", inside({ a: nested(15) }), undefined],
    [
      "a deeper schema",
      inside({ a: nested(16) }),
      `/properties/a${"/items".repeat(16)}: schemas nest at most 16 levels deep`,
    ],
    [
      "more than 32 KiB",
      { type: "object", description: "x".repeat(32 * 1024) },
      ": a schema has at most 32768 bytes, not 32802",
    ],
  ])("reads %s", (_says, schema, problem) => {
    const [first] = parseSchema(schema).problems;
    expect(first === undefined ? undefined : `${first.pointer}: ${first.detail}`).toBe(problem);
  });

  test("permits sixteen patterns that need an engine, and no more", () => {
    const of = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`p${index}`, { pattern: `^(a|b){${index}}$`, maxLength: 9 }]),
      );
    expect(parseSchema(inside(of(16))).problems).toEqual([]);
    expect(parseSchema(inside(of(17))).problems).toHaveLength(1);
  });
});

test.each<readonly [says: string, schema: unknown, pointer: string | undefined]>([
  [
    "known keywords",
    inside({ if: { type: "string" } }, { $defs: { a: { anyOf: [{ items: { $ref: "#/$defs/b" } }] } } }),
    undefined,
  ],
  [
    "one of a later version in a branch",
    inside({ a: { oneOf: [{}, { contains: {} }] } }),
    "/properties/a/oneOf/1/contains",
  ],
  [
    "one in a map",
    inside({ a: { additionalProperties: { "x-unit": 1 } } }),
    "/properties/a/additionalProperties/x-unit",
  ],
  ["a schema that is no object", inside({ a: true }), "/properties/a"],
])("unknownKeyword finds %s", (_says, schema, pointer) => {
  expect(unknownKeyword(schema)).toBe(pointer);
});

test.each(["(?P<a>x)(?P<a>y)", "[a[:]+b+c+", "(a", "[b-a]", String.raw`(?=a)`, String.raw`(a)\1`])(
  "a pattern that the engine cannot compile is a problem, not an exception: %s",
  (pattern) => {
    const text = { type: "string", maxLength: 9, pattern };
    const { problems } = parseSchema({ type: "object", properties: { a: text } });
    expect(problems.map(({ detail }) => detail)).toEqual([expect.stringContaining("must be an RE2 expression")]);
  },
);
