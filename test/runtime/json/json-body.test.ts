import { describe, expect, test } from "vitest";
import { ApiError } from "../../../runtime/errors/api-error.ts";
import { parseJson } from "../../../runtime/json/json-body.ts";

function refused(text: string | Uint8Array): readonly unknown[] {
  try {
    parseJson(typeof text === "string" ? Buffer.from(text) : text);
  } catch (error) {
    if (error instanceof ApiError) return [error.status, error.code, error.errors[0]?.field, error.message];
  }
  throw new Error("nothing was refused");
}

describe("a body of JSON", () => {
  test("is its value", () => {
    expect(parseJson(Buffer.from('{"a":[1,{"a":2}],"b":{"a":3}}'))).toEqual({ a: [1, { a: 2 }], b: { a: 3 } });
  });

  test.each<[string, string, string | undefined]>([
    ["names a member twice", '{"queries":[{"id":"a","step":"1m","step":"5m"}]}', "queries[0].step"],
    ["names a member twice, once with an escape", String.raw`{"a":1,"\u0061":2}`, "a"],
    ["is cut off", '{"a":', undefined],
  ])("is refused when it %s", (_sentence, text, field) => {
    expect(refused(text).slice(0, 3)).toEqual([400, "invalid_json", field]);
  });

  test("is refused when it is nested deeper than any body of this API", () => {
    expect(refused("[".repeat(100_000) + "]".repeat(100_000))[3]).toMatch(/nested deeper than 32/u);
  });

  test("is refused when it is not UTF-8", () => {
    expect(refused(Uint8Array.of(34, 255, 34)).slice(0, 2)).toEqual([400, "invalid_utf8"]);
  });
});
