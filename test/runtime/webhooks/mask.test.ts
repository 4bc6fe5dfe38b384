import { describe, expect, test } from "vitest";
import { maskOutcome } from "../../../runtime/webhooks/mask.ts";
import type { Outcome } from "../../../runtime/webhooks/outcome.ts";

const requestHeaders = {
  "authorization": "Bearer token-of-the-endpoint",
  "x-signature": "v1=AAAAAAAAAAAA,v1=BBBBBBBBBBBB",
  "x-api-key": "key-of-the-endpoint",
  "x-event-id": "evt-12345678",
  "user-agent": "Heliograph/1.0.0",
  "x-short": "no",
};

function answer(body: string, headers: Readonly<Record<string, string>> = {}): Outcome {
  return { kind: "response", status: 500, headers, body, bodyTruncated: false, timings: { totalMs: 1 } };
}

describe("an answer that echoes its request", () => {
  test.each([
    ["a header with its scheme", "got Bearer token-of-the-endpoint!", "got ***!"],
    ["a token alone", '{"token":"token-of-the-endpoint"}', '{"token":"***"}'],
    ["one signature of two", "v1=BBBBBBBBBBBB is wrong", "*** is wrong"],
    ["a header of the endpoint", "key-of-the-endpoint key-of-the-endpoint", "*** ***"],
  ])("is kept without %s", (_, body, kept) => {
    expect(maskOutcome(answer(body), requestHeaders)).toMatchObject({ body: kept });
  });

  test("keeps what anybody may read", () => {
    const body = "evt-12345678 of Heliograph/1.0.0: no";
    expect(maskOutcome(answer(body), requestHeaders)).toMatchObject({ body });
  });

  test("is masked in its headers too", () => {
    const echoed = answer("", { location: "/login?back=key-of-the-endpoint" });
    expect(maskOutcome(echoed, requestHeaders)).toMatchObject({ headers: { location: "/login?back=***" } });
  });
});

test("an outcome without a text is left as it is", () => {
  const empty = answer("");
  expect(maskOutcome(empty, requestHeaders)).toBe(empty);
});
