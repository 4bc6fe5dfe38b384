import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isLongNumber, LongNumber, parseExactly } from "../../../crds/event-schema/long-number.ts";
import { parseSchema } from "../../../crds/event-schema/parse-schema.ts";
import { validateData } from "../../../crds/event-schema/validate-data.ts";

const { root: anyObject } = parseSchema({ type: "object" });
const problemsOf = (schema: object, json: string): readonly string[] => {
  const { root = anyObject, problems } = parseSchema({ type: "object", properties: { a: schema } });
  if (root === undefined || problems.length > 0) throw new Error(JSON.stringify(problems));
  return validateData(root, parseExactly(`{"a":${json}}`)).map(({ detail }) => detail);
};

describe("numbers that a double would round", () => {
  test.each<readonly [says: string, schema: object, json: string, problem: string | undefined]>([
    ["an identifier of 64 bits as an integer", { type: "integer" }, "9223372036854775807", undefined],
    ["a fraction beyond 2^53", { type: "integer" }, "9007199254740992.5", "must be of type integer"],
    ["a fraction of 17 digits", { type: "integer" }, "1.00000000000000001", "must be of type integer"],
    ["the same as a number", { type: "number" }, "1.00000000000000001", undefined],
    ["a text instead", { type: "string" }, "9007199254740993", "must be of type string"],
    ["an odd number", { multipleOf: 2 }, "9007199254740993", "must be a multiple of 2"],
    ["a multiple", { multipleOf: 3 }, "9007199254740993", undefined],
    ["a negative multiple", { multipleOf: 3 }, "-9007199254740993", undefined],
    [
      "one that rounds to its maximum",
      { maximum: 9007199254740991 },
      "9007199254740991.1",
      "must be at most 9007199254740991",
    ],
    ["one above an open bound", { exclusiveMinimum: 0.1 }, "0.10000000000000000001", undefined],
    ["one below its minimum", { minimum: 0.1 }, "0.09999999999999999999", "must be at least 0.1"],
    ["a constant that it only rounds to", { const: 0.1 }, "0.10000000000000000001", "must be 0.1"],
    ["the constant with more zeros", { const: 0.1 }, "0.1000000000000000000", undefined],
    [
      "two items that differ in the last digit",
      { items: { type: "integer" }, uniqueItems: true },
      "[1180000000000000001,1180000000000000002,1180000000000000000]",
      undefined,
    ],
    [
      "one item in two notations",
      { items: { type: "integer" }, uniqueItems: true },
      "[1180000000000000001,1.180000000000000001e18]",
      "must have no item twice",
    ],
  ])("judges %s", (_says, schema, json, problem) => {
    expect(problemsOf(schema, json)).toEqual(problem === undefined ? [] : [problem]);
  });

  test("compare and divide like big integers", () => {
    const big = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n });
    fc.assert(
      fc.property(big, fc.maxSafeInteger(), fc.integer({ min: 1, max: 1_000 }), (value, bound, divisor) => {
        fc.pre(isLongNumber(String(value)));
        const number = new LongNumber(String(value));
        expect(Math.sign(number.compare(bound))).toBe(value < BigInt(bound) ? -1 : 1);
        expect(number.isMultipleOf(divisor)).toBe(value % BigInt(divisor) === 0n);
      }),
    );
  });

  test.each([
    ["maximum", { maximum: 2 ** 53 }, "/properties/a/maximum: maximum must be a number between"],
    ["enum", { enum: [1e300] }, "/properties/a/enum: values must be texts, numbers that keep their digits"],
    ["const", { const: 2 ** 60 }, "/properties/a/const: values must be texts, numbers that keep their digits"],
  ])("are not allowed in a schema: %s", (_says, schema, problem) => {
    const { problems } = parseSchema({ type: "object", properties: { a: schema } });
    expect(problems.map(({ pointer, detail }) => `${pointer}: ${detail}`).join()).toContain(problem);
  });

  test("are found by their digits alone", () => {
    const texts = ["0.1", "100000000000000000000", "9007199254740993", "0.30000000000000004", "1".repeat(400)];
    expect(texts.map(isLongNumber)).toEqual([false, false, true, false, false]);
  });
});
