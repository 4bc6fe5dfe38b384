import { parseJsonObject } from "../../../runtime/json/json-body.ts";
import { expect, test } from "vitest";

test.each([
  ["the members of an object", '{"a":1}', { a: 1 }],
  ["undefined for an array", "[1]", undefined],
  ["undefined for null", "null", undefined],
  ["undefined for a number", "1", undefined],
  ["undefined for a text that is not JSON", "{", undefined],
])("a JSON text is parsed to %s", (_, text, expected) => {
  expect(parseJsonObject(text)).toEqual(expected);
});
