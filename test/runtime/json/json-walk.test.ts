import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { walkJson } from "../../../runtime/json/json-walk.ts";

/** Everything the walk tells, as lines. */
function told(text: string, depthMax = 64): readonly string[] {
  const lines: string[] = [];
  const whole = walkJson(text, depthMax, {
    member: (_, pathOf, isRepeated) => lines.push(`${isRepeated ? "again" : "name"} ${JSON.stringify(pathOf())}`),
    string: (value, pathOf) => lines.push(`string ${JSON.stringify(pathOf())} ${value}`),
    number: (digits, pathOf) => lines.push(`number ${JSON.stringify(pathOf())} ${digits}`),
  });
  return whole ? lines : [...lines, "too deep"];
}

function leaves(value: unknown): readonly string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leaves);
  return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
}

describe("walking a JSON text", () => {
  test.each([
    ["an empty object", " {} ", []],
    ["a member", '{"a": 1}', ['name ["a"]', 'number ["a"] 1']],
    ["a list", '[1,"b",[true,null,2]]', ["number [0] 1", "string [1] b", "number [2,2] 2"]],
    [
      "digits as they were written",
      "[1.0e+2,-0,12345678901234567890]",
      ["number [0] 1.0e+2", "number [1] -0", "number [2] 12345678901234567890"],
    ],
    ["escaped names and text", String.raw`{"\u0061":"x\"y\\"}`, ['name ["a"]', String.raw`string ["a"] x"y` + "\\"]],
    [
      "text that ends in escapes",
      String.raw`["\\\"","\\",""]`,
      [String.raw`string [0] \"`, String.raw`string [1]` + " \\", "string [2] "],
    ],
    ["structure inside text as text", '["{[,:]}"]', ["string [0] {[,:]}"]],
    ["a name that is repeated", '{"a":1,"a":2}', ['name ["a"]', 'number ["a"] 1', 'again ["a"]', 'number ["a"] 2']],
    [
      "a name repeated in another spelling",
      String.raw`{"a":1,"\u0061":2}`,
      ['name ["a"]', 'number ["a"] 1', 'again ["a"]', 'number ["a"] 2'],
    ],
    [
      "a name of two objects once in each",
      '[{"a":1},{"a":2}]',
      ['name [0,"a"]', 'number [0,"a"] 1', 'name [1,"a"]', 'number [1,"a"] 2'],
    ],
  ])("tells %s", (_, text, expected) => {
    expect(told(text)).toEqual(expected);
  });

  test("visits every name, text and number of any value", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const seen = [...leaves(JSON.parse(text))];
        const walked: string[] = [];
        walkJson(text, 64, {
          string: (value) => walked.push(value),
          number: (digits) => walked.push(String(Number(digits))),
        });
        // A repeated name hides its first value from JSON.parse, never from the walk.
        expect(walked).toEqual(expect.arrayContaining(seen));
        expect(walked.length).toBeGreaterThanOrEqual(seen.length);
      }),
    );
  });

  test("stops at the given depth", () => {
    expect(told('[["in"]]', 2)).toEqual(["string [0,0] in"]);
    expect(told('[[["in"]]]', 2)).toEqual(["too deep"]);
  });

  test("does not exhaust the call stack at any depth", () => {
    expect(walkJson("[".repeat(200_000) + "]".repeat(200_000), Number.POSITIVE_INFINITY, {})).toBe(true);
  });
});
