import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSchema } from "../../../crds/event-schema/parse-schema.ts";
import { validateData } from "../../../crds/event-schema/validate-data.ts";
import { anyValue, objectSchema } from "./arbitraries.ts";

const rootOf = (schema: Readonly<Record<string, unknown>>) => {
  const { root, problems } = parseSchema(schema);
  if (root === undefined) throw new Error(JSON.stringify(problems));
  return root;
};
const problemsOf = (schema: object, value: unknown): readonly string[] =>
  validateData(rootOf({ type: "object", properties: { a: schema } }), { a: value }).map(
    ({ pointer, detail }) => `${pointer} ${detail}`,
  );

describe("validateData", () => {
  test.each<readonly [says: string, schema: object, value: unknown, problem: string | undefined]>([
    ["a text for a number", { type: "integer" }, "1", "/a must be of type integer"],
    ["a fraction for an integer", { type: "integer" }, 1.5, "/a must be of type integer"],
    ["1.0, which is an integer", { type: "integer" }, 1, undefined],
    ["null for a text", { type: "string" }, null, "/a must be of type string"],
    ["a list for an object", { type: "object" }, [], "/a must be of type object"],
    ["a value that is not listed", { enum: ["x", 1] }, "1", '/a must be one of "x", 1'],
    ["another constant", { const: "x" }, "y", '/a must be "x"'],
    ["a value that an open list lacks", { enum: ["x"], "x-open-enum": true }, "y", '/a must be "x"'],
    ["a lower number", { minimum: 2 }, 1, "/a must be at least 2"],
    ["the edge of an open range", { exclusiveMaximum: 2 }, 2, "/a must be less than 2"],
    ["no multiple", { multipleOf: 5 }, 12, "/a must be a multiple of 5"],
    ["a long text", { maxLength: 2 }, "abc", "/a must have at most 2 characters"],
    ["a text of two characters beyond the basic plane", { maxLength: 2, minLength: 2 }, "😀😀", undefined],
    ["a short text", { minLength: 3 }, "😀😀", "/a must have at least 3 characters"],
    ["a text of another form", { pattern: "^[A-Z]{3}$" }, "eur", "/a must match ^[A-Z]{3}$"],
    ["a text with the form inside it", { pattern: "b+", maxLength: 9 }, "abbc", undefined],
    ["few items", { minItems: 1 }, [], "/a must have at least 1 items"],
    ["a wrong item", { items: { type: "string" } }, ["x", 2], "/a/1 must be of type string"],
    ["an item twice", { items: { type: "string" }, uniqueItems: true }, ["x", "x"], "/a must have no item twice"],
    ["a missing member", { type: "object", properties: { "b/c": {} }, required: ["b/c"] }, {}, "/a/b~1c is required"],
    [
      "a member of the prototype",
      { type: "object", properties: { toString: {} }, required: ["toString"] },
      {},
      "/a/toString is required",
    ],
    ["an undeclared member", { type: "object", additionalProperties: false }, { b: 1 }, "/a/b is not declared"],
    [
      "a wrong value of a map",
      { additionalProperties: { type: "integer" } },
      { b: "x" },
      "/a/b must be of type integer",
    ],
    [
      "no alternative",
      { anyOf: [{ type: "string" }, { type: "null" }] },
      1,
      "/a must match one of the schemas of anyOf",
    ],
    [
      "two alternatives of one",
      { oneOf: [{ minimum: 1 }, { maximum: 5 }] },
      3,
      "/a must match exactly one of the schemas of oneOf",
    ],
    ["a part of all", { allOf: [{ minimum: 1 }, { maximum: 5 }] }, 9, "/a must be at most 5"],
  ])("judges %s", (_says, schema, value, problem) => {
    expect(problemsOf(schema, value)).toEqual(problem === undefined ? [] : [problem]);
  });

  test("lists at most twenty problems", () => {
    expect(
      problemsOf(
        { items: { type: "string" } },
        Array.from({ length: 50 }, () => 1),
      ),
    ).toHaveLength(20);
  });

  test("bounds the work of alternatives that share definitions, and of patterns", () => {
    const steps = ["the data needs more than 40000 steps to validate; send a smaller event"];
    const level = (depth: number): object =>
      depth === 0
        ? { type: "string", maxLength: 1 }
        : { anyOf: [{ $ref: `#/$defs/d${depth - 1}` }, { $ref: `#/$defs/d${depth - 1}` }] };
    const $defs = Object.fromEntries(Array.from({ length: 14 }, (_, depth) => [`d${depth}`, level(depth)]));
    const items = { type: "object", $defs, properties: { a: { items: { $ref: "#/$defs/d13" } } } };
    expect(validateData(rootOf(items), { a: ["long", "long", "long"] }).map(({ detail }) => detail)).toEqual(steps);
    const pattern = "(x|[a-z]*y|[a-z]*z){1,30}$";
    const texts = { type: "object", properties: { a: { items: { type: "string", maxLength: 1024, pattern } } } };
    const many = Array.from({ length: 240 }, () => "abcdefgz".repeat(128));
    expect(validateData(rootOf(texts), { a: many }).map(({ detail }) => detail)).toEqual(steps);
  });

  test("counts declared names that objects lack, and characters", () => {
    const steps = ["the data needs more than 40000 steps to validate; send a smaller event"];
    const detailsOf = (schema: object, a: unknown) =>
      validateData(rootOf({ type: "object", properties: { a: schema } }), { a }).map(({ detail }) => detail);
    const properties = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`p${index}`, {}]));
    const objects = Array.from({ length: 400 }, () => ({}));
    expect(detailsOf({ items: { type: "object", properties } }, objects)).toEqual(steps);
    expect(detailsOf({ items: { type: "object", properties } }, objects.slice(0, 300))).toEqual([]);
    const anyOf = Array.from({ length: 100 }, () => ({ maxLength: 9_999 }));
    expect(detailsOf({ anyOf }, "😀".repeat(9_999))).toEqual([]);
    expect(detailsOf({ anyOf }, "😀".repeat(9_000) + "a".repeat(1_000))).toEqual(steps);
  });

  test("agrees with Ajv on random schemas and data", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    let valid = 0;
    fc.assert(
      fc.property(objectSchema, fc.array(anyValue, { minLength: 4, maxLength: 8 }), (schema, values) => {
        const root = rootOf(schema);
        const accepts = ajv.compile(schema);
        for (const value of values) {
          const isValid = validateData(root, value).length === 0;
          valid += isValid ? 1 : 0;
          expect({ schema, value, isValid }).toEqual({ schema, value, isValid: accepts(value) });
        }
      }),
      { numRuns: 150 },
    );
    expect(valid).toBeGreaterThan(50);
  });
});
