import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { queryParameters } from "../../../../runtime/http/server/query-string.ts";

describe("query parameters", () => {
  test.each([
    ["none", "/q", []],
    ["an empty query", "/q?", []],
    [
      "repeated names in order",
      "/q?metric=b&agg=avg&metric=a",
      [
        ["metric", ["b", "a"]],
        ["agg", ["avg"]],
      ],
    ],
    [
      "brackets, raw and encoded",
      "/q?filter[geo]=DE&filter%5Bpsp%5D=x",
      [
        ["filter[geo]", ["DE"]],
        ["filter[psp]", ["x"]],
      ],
    ],
    [
      "a name without a value",
      "/q?a&b=",
      [
        ["a", [""]],
        ["b", [""]],
      ],
    ],
    ["plus as a blank, and an encoded plus", "/q?a=x+y%2Bz", [["a", ["x y+z"]]]],
    ["a value with an equals sign", "/q?a=b=c", [["a", ["b=c"]]]],
    ["UTF-8", "/q?a=%C3%A9", [["a", ["é"]]]],
    ["no fragment", "/q?a=1#b=2", [["a", ["1"]]]],
    ["a name that is special to objects", "/q?__proto__=1", [["__proto__", ["1"]]]],
  ])("hold %s", (_name, target, expected) => {
    expect([...queryParameters(target)]).toEqual(expected);
  });

  test.each(["/q?a=%", "/q?a=%zz", "/q?%ff=1", "/q?a=%c3%28"])("refuse the broken encoding of %s", (target) => {
    expect(() => queryParameters(target)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  });

  test("refuse more than a request can need", () => {
    expect(() => queryParameters(`/q?${"a=1&".repeat(257)}`)).toThrow(ApiError);
  });

  test("give back whatever was encoded", () => {
    const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string({ unit: "grapheme" })), { maxLength: 20 }), (pairs) => {
        const target = `/q?${pairs.map((pair) => pair.map(encodeURIComponent).join("=")).join("&")}`;
        const expected = [...Map.groupBy(pairs, ([key]) => key)].map(([key, same]) => [
          key,
          same.map(([, value]) => value),
        ]);
        expect([...queryParameters(target)]).toEqual(expected);
      }),
    );
  });
});
