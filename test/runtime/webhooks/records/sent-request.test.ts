import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  derivedHeaders,
  recordedHeaders,
  recordSent,
  type RequestToRecord,
  type SentRequest,
} from "../../../../runtime/webhooks/records/sent-request.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { signingKeyOf, type Signer } from "../../../../runtime/webhooks/signing/keys.ts";
import { deliveryHeaders, keepSignature } from "../../../../runtime/webhooks/signing/signed-request.ts";
import { privateKeyOf, rfcEd25519 } from "../signing/key-material.ts";

const responded: AttemptOutcome = {
  kind: "response",
  status: 200,
  headers: {},
  body: "",
  bodyTruncated: false,
  timings: { totalMs: 1 },
};
const request: RequestToRecord = {
  url: new URL("https://partner.example/hook?code=hidden"),
  headers: {},
  signed: { scheme: "HmacV1" },
  fixed: {},
  authorized: [],
};

function recorded(change: Partial<RequestToRecord>, outcome = responded): SentRequest | undefined {
  const sent = recordSent({ ...request, ...change }, outcome);
  return sent === undefined ? undefined : (JSON.parse(JSON.stringify(sent)) as SentRequest);
}

const shared: Signer = {
  id: "shared",
  algorithm: "hmac-sha256",
  secret: Buffer.from("a secret of thirty-two bytes, ok"),
};
const ed25519: Signer = { id: "ed", ...signingKeyOf({ algorithm: "ed25519", privateKey: privateKeyOf(rfcEd25519) }) };
const signers = { HmacV1: shared, StandardWebhooks: shared, HttpMessageSignatures: ed25519 } as const;

describe("the recorded request of an attempt", () => {
  test.each(["HmacV1", "StandardWebhooks", "HttpMessageSignatures"] as const)(
    "contains each header of a request that %s signed, with its value",
    (scheme) => {
      const attempt = { eventId: "e-1", number: 3, at: "2026-01-02T03:04:05.678Z", replayId: "r-1" };
      const keys = [signers[scheme]];
      const headers = deliveryHeaders(scheme, {
        ...attempt,
        keys,
        url: request.url,
        body: Buffer.from('{"event_id":"e-1","attempt":3}'),
        attempt: attempt.number,
        producer: "ledger",
        sentAtMs: Date.parse(attempt.at),
        version: "1.2.3",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        requestOrigin: "heliograph",
        endpointHeaders: { "x-region": "eu" },
      });
      const signed = keepSignature(scheme, keys, request.url, headers);
      const sent = recorded({ headers, signed, fixed: { "x-region": "eu" } });
      const shown = recordedHeaders(sent ?? { url: "", headers: {} }, {
        ...derivedHeaders(attempt),
        ...signed.headers,
      });
      const byName = shown.map(({ name, value }) => [name.toLowerCase(), value] as const);
      expect(Object.fromEntries(byName)).toEqual(
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      );
      // What the record contains anyway is not recorded again.
      expect(JSON.stringify(sent)).not.toMatch(/2026-01-02T|"r-1"|X-Signature|application/u);
    },
  );

  test("has the URL without its query", () => {
    expect(recorded({})?.url).toBe("https://partner.example/hook?***");
    expect(recorded({ url: new URL("https://user:pass@partner.example/hook") })?.url).toBe(
      "https://partner.example/hook",
    );
  });

  test.each([
    ["a key by its name", "x-api-key", "abc"],
    ["a short key by its name", "x-api-key", "secret123"],
    ["a token by its name", "X-Acme-Token", "abc"],
    ["authorization", "authorization", "abc"],
    ["a cookie", "cookie", "a=b"],
    ["a scheme of authorization", "x-custom", "Bearer abc"],
    ["a Basic scheme", "x-custom", "basic YTpi"],
    ["a key of a vendor", "x-custom", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"],
    ["a JWT", "x-custom", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"],
    ["a UUID", "x-custom", "9f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0"],
    ["a digest within other text", "x-custom", "v=1; d=9f86d081884c7d659a2feaa0c55ad015"],
  ])("names a fixed header that may be a credential, without its value: %s", (_, name, value) => {
    const sent = recorded({ headers: { [name]: value }, fixed: { [name]: value } });
    expect(sent?.fixed).toEqual({ [name]: null });
    expect(JSON.stringify(sent)).not.toContain(value);
  });

  test.each([
    ["x-region", "eu-central-1"],
    ["x-environment", "production"],
    ["accept", "application/vnd.acme.events.v2+json"],
    ["x-contract-date", "2026-01-01T00:00:00Z"],
    ["x-tenant-id", "customer-456"],
    ["x-team", "payments platform, Berlin"],
  ])("has the value of a plain fixed header: %s: %s", (name, value) => {
    expect(recorded({ headers: { [name]: value }, fixed: { [name]: value } })?.fixed).toEqual({ [name]: value });
  });

  test("names the headers of authorization, which also replace a fixed one", () => {
    const sent = recorded({ fixed: { authorization: "static" }, authorized: ["Authorization", "DPoP"] });
    expect(recordedHeaders(sent ?? { url: "", headers: {} }, {})).toEqual([
      { name: "Authorization", value: null, isCut: false, isFixed: false },
      { name: "DPoP", value: null, isCut: false, isFixed: false },
    ]);
  });

  test("marks a value of which only the start is recorded", () => {
    const [long, exact] = ["x ".repeat(129), "x ".repeat(128)];
    const sent = recorded({ headers: { a: long, b: exact } });
    expect(recordedHeaders(sent ?? { url: "", headers: {} }, {})).toEqual([
      { name: "a", value: exact, isCut: true, isFixed: false },
      { name: "b", value: exact, isCut: false, isFixed: false },
    ]);
  });

  test("is bounded, whatever is sent", () => {
    const token = fc.string({ minLength: 1, maxLength: 64 });
    const text = fc.string({ maxLength: 2_000 });
    fc.assert(
      fc.property(fc.dictionary(token, text, { maxKeys: 60 }), fc.boolean(), (headers, isFixed) => {
        const sent = recorded({ headers, fixed: isFixed ? headers : {} });
        const shown = recordedHeaders(sent ?? { url: "", headers: {} }, {});
        expect(shown.length).toBeLessThanOrEqual(32);
        expect(shown.filter(({ value }) => (value?.length ?? 0) > 256)).toEqual([]);
      }),
    );
  });

  test.each([
    ["reset", true],
    ["first_byte_timeout", true],
    ["response_invalid", true],
    ["guard", false],
    ["dns", false],
    ["connect", false],
    ["connect_timeout", false],
    ["tls", false],
    ["timeout", false],
    ["token", false],
    ["consent", false],
    ["internal", false],
  ] as const)("after the failure %s: %s", (reason, isThere) => {
    const failed: AttemptOutcome = { kind: "failure", reason, detail: "", timings: { totalMs: 1 } };
    expect(recorded({}, failed) !== undefined).toBe(isThere);
  });
});
