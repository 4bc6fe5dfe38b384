import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maskOutcome } from "../../../../runtime/webhooks/sending/mask.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";

const requestHeaders = {
  authorization: "Bearer token-of-the-endpoint",
  "x-signature": "v1=AAAAAAAAAAAA,v1=BBBBBBBBBBBB",
  "x-api-key": "key-of-the-endpoint",
  "x-event-id": "evt-12345678",
  "user-agent": "Heliograph/1.0.0",
  "x-short": "no",
};

function answer(body: string, headers: Readonly<Record<string, string>> = {}): AttemptOutcome {
  return { kind: "response", status: 500, headers, body, bodyTruncated: false, timings: { totalMs: 1 } };
}

describe("a response that echoes its request", () => {
  test.each([
    ["a header with its scheme", "got Bearer token-of-the-endpoint!", "got ***!"],
    ["a token alone", '{"token":"token-of-the-endpoint"}', '{"token":"***"}'],
    ["one signature of two", "v1=BBBBBBBBBBBB is wrong", "*** is wrong"],
    ["a header of the endpoint", "key-of-the-endpoint key-of-the-endpoint", "*** ***"],
  ])("is kept without %s", (_, body, kept) => {
    expect(maskOutcome(answer(body), requestHeaders)).toMatchObject({ body: kept });
  });

  test.each([
    ["the whole query", "no such page: /v1/hook?code=s3cr3t%2Fcode&v=2 (404)", "no such page: /v1/hook?*** (404)"],
    ["a value as written", "s3cr3t%2Fcode is invalid", "*** is invalid"],
    ["a value, decoded", "s3cr3t/code is invalid", "*** is invalid"],
    ["a value in base64", `${Buffer.from("s3cr3t/code").toString("base64")} is invalid`, "*** is invalid"],
  ])("is kept without %s of its URL", (_, body, kept) => {
    const url = new URL("https://partner.example/v1/hook?code=s3cr3t%2Fcode&v=2");
    const location = { location: "https://partner.example/login?code=s3cr3t%2Fcode" };
    expect(maskOutcome(answer(body, location), requestHeaders, url)).toMatchObject({
      body: kept,
      headers: { location: "https://partner.example/login?code=***" },
    });
    const other = new URL("https://partner.example/v1/hook?v=2");
    expect(maskOutcome(answer(body), requestHeaders, other)).toMatchObject({ body });
  });

  test("keeps words that only headers without secrets hold", () => {
    const body = "heliograph has no such identity";
    const headers = { ...requestHeaders, "WebHook-Request-Origin": "heliograph", "Accept-Encoding": "identity" };
    expect(maskOutcome(answer(body), headers)).toMatchObject({ body });
  });

  test.each([
    ["the password of its credentials", "no user with s3cr3t/pass+word here", "no user with *** here"],
    ["its credentials, decoded", "client:s3cr3t%2Fpass%2Bword", "***"],
    ["a token in base64", `token=${Buffer.from("token-of-the-endpoint").toString("base64")}`, "token=***"],
    [
      "a token in the base64 of URLs",
      `token=${Buffer.from("~~~token?of?the?endpoint").toString("base64url")}`,
      "token=***",
    ],
    ["a header, percent-encoded", "auth=Bearer%20token-of-the-endpoint&x=1", "auth=***&x=1"],
    ["a password, percent-encoded in small letters", "p=s3cr3t%2fpass%2bword", "p=***"],
    ["a password that was percent-encoded twice", "p=s3cr3t%252Fpass%252Bword", "p=***"],
    [
      "every letter percent-encoded",
      Buffer.from("key-of-the-endpoint").toString("hex").replaceAll(/../gu, "%$&"),
      "***",
    ],
    ["a password, escaped as in JSON", String.raw`{"p":"s3cr3t\/pass\u002bword"}`, '{"p":"***"}'],
    ["a password, escaped as in HTML", "<p>s3cr3t&#x2F;pass&#43;word</p>", "<p>***</p>"],
    ["a key, escaped with the names of HTML", "<p>key&amp;of&lt;the&gt;&quot;endpoint&quot;</p>", "<p>***</p>"],
  ])("is kept without %s", (_, body, kept) => {
    const headers = {
      ...requestHeaders,
      "x-basic": `Basic ${Buffer.from("client:s3cr3t%2Fpass%2Bword").toString("base64")}`,
      "x-odd": "~~~token?of?the?endpoint",
      "x-named": 'key&of<the>"endpoint"',
    };
    expect(maskOutcome(answer(body), headers)).toMatchObject({ body: kept });
  });

  test("keeps public values", () => {
    const body = "evt-12345678 of Heliograph/1.0.0: no";
    expect(maskOutcome(answer(body), requestHeaders)).toMatchObject({ body });
  });

  test("is masked in its headers too", () => {
    const echoed = answer("", { location: "/login?back=key-of-the-endpoint" });
    expect(maskOutcome(echoed, requestHeaders)).toMatchObject({ headers: { location: "/login?back=***" } });
  });
});

test("an outcome without text is unchanged", () => {
  const empty = answer("");
  expect(maskOutcome(empty, requestHeaders)).toBe(empty);
});

describe("a secret inside a longer text", () => {
  const secret = fc.stringMatching(/^[!-~]{12,40}$/u).filter((text) => !/[,=]/u.test(text));
  const around = fc.stringMatching(/^[ -~]{0,12}$/u);
  /** A percent-encoded character counts as one. */
  const lengthOf = (text: string): number => text.replaceAll(/%[0-9A-F]{2}/gu, "_").length;
  const forms: Readonly<Record<string, (text: string) => string>> = {
    "as it is": (text) => text,
    "in base64": (text) => Buffer.from(text).toString("base64"),
    "in the base64 of URLs": (text) => Buffer.from(text).toString("base64url"),
    "percent-encoded": (text) => encodeURIComponent(text),
    "in base64, percent-encoded": (text) => encodeURIComponent(Buffer.from(text).toString("base64")),
    "as JSON": (text) => JSON.stringify(text),
  };

  test.each(Object.entries(forms))("is never shown %s", (_, form) => {
    fc.assert(
      fc.property(secret, around, around, (key, before, after) => {
        const outcome = maskOutcome(answer(form(`${before} ${key} ${after}`)), { "x-api-key": key });
        const { body } = outcome as { readonly body: string };
        expect(body).toContain("***");
        // Up to two characters at each end of base64, and its padding, depend on the neighbouring bytes.
        expect(lengthOf(body)).toBeLessThanOrEqual(lengthOf(form(`${before}  ${after}`)) + "***".length + 10);
      }),
    );
  });
});
