import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readSecret } from "../../../../runtime/config/folder/secret-manifest.ts";

describe("a Secret", () => {
  test("gives its data as it is", () => {
    expect(readSecret({ data: { hmac: "a2V5" } }).entries).toEqual({ hmac: "a2V5" });
  });

  test("gives its stringData in base64, and lets it win over data", () => {
    const { entries } = readSecret({ data: { a: "eA==", b: "eQ==" }, stringData: { b: "ß" } });
    expect(entries).toEqual({ a: "eA==", b: "w58=" });
  });

  test("may break lines inside base64", () => {
    expect(readSecret({ data: { a: "a2V5\na2V5\r\n" } }).entries).toEqual({ a: "a2V5a2V5" });
  });

  test("may be empty", () => {
    expect(readSecret({}).entries).toEqual({});
  });

  test.each([
    ["an alien character", { data: { hmac: "a2V5*a==" } }, "data.hmac"],
    ["missing padding", { data: { hmac: "a2V" } }, "data.hmac"],
    ["padding in the middle", { data: { hmac: "a2==a2V5" } }, "data.hmac"],
    ["a number in data", { data: { hmac: 7 } }, "data.hmac"],
    ["a number in stringData", { stringData: { hmac: 7 } }, "stringData.hmac"],
    ["data as a list", { data: ["a2V5"] }, "data"],
    ["data as text", { data: "a2V5" }, "data"],
  ])("is refused for %s", (_name, object, field) => {
    const { entries, problems } = readSecret(object);
    expect(entries).toBeUndefined();
    expect(problems.map((problem) => problem.field)).toEqual([field]);
  });

  test("never shows a value in a message", () => {
    expect(JSON.stringify(readSecret({ data: { hmac: "hunter2!" } }).problems)).not.toContain("hunter2");
  });

  test("gives any bytes back that were written as base64", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const base64 = Buffer.from(bytes).toString("base64");
        expect(readSecret({ data: { k: base64 } }).entries).toEqual({ k: base64 });
      }),
    );
  });
});
