import { describe, expect, test } from "vitest";
import { correlationIdOf } from "../../../../runtime/http/server/request-log.ts";

const generated = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

describe("the correlation id", () => {
  test.each(["a", "req-1", "01J:A.b_c", "x".repeat(128)])("is the caller's when well-formed: %s", (header) => {
    expect(correlationIdOf(header)).toBe(header);
  });

  test.each([undefined, "", "a b", "a,b", "é", 'a"b', "a\tb", "x".repeat(129)])(
    "is a new one instead of %j",
    (header) => {
      expect(correlationIdOf(header)).toMatch(generated);
    },
  );

  test("is a new one when the caller sends several", () => {
    expect(correlationIdOf(["a", "b"])).toMatch(generated);
  });
});
