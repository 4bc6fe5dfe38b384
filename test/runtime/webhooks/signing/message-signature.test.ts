import { createPublicKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import { isSignedBy, signBytes, type SigningKey } from "../../../../runtime/webhooks/signing/keys.ts";
import {
  contentDigest,
  messageSignatureHeaders,
  signatureBase,
  verifyMessageSignature,
  type Component,
} from "../../../../runtime/webhooks/signing/message-signature.ts";
import type { IncomingRequest } from "../../../../runtime/webhooks/signing/verification-result.ts";
import { countedKey, pemOf, privateKeyOf, publicKeyOf, rfcEd25519, rfcP256, signingKey } from "./key-material.ts";

const created = 1_618_884_473;

describe("the signature base of RFC 9421", () => {
  const requestComponents: readonly Component[] = [
    ["date", "Tue, 20 Apr 2021 02:07:55 GMT"],
    ["@method", "POST"],
    ["@path", "/foo"],
    ["@authority", "example.com"],
    ["content-type", "application/json"],
    ["content-length", "18"],
  ];
  const paramsOf = (components: readonly Component[], keyId: string) =>
    `(${components.map(([name]) => `"${name}"`).join(" ")});created=${created};keyid="${keyId}"`;

  test("of §B.2.6 gives the signature printed there", () => {
    const base = signatureBase(requestComponents, paramsOf(requestComponents, "test-key-ed25519"));
    const signature = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    expect(signBytes(privateKeyOf(rfcEd25519), Buffer.from(base)).toString("base64")).toBe(signature);
  });

  test("of §B.2.4 fits the signature printed there, which is random", () => {
    const components: readonly Component[] = [
      ["@status", "200"],
      ["content-type", "application/json"],
      [
        "content-digest",
        "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:",
      ],
      ["content-length", "23"],
    ];
    const base = Buffer.from(signatureBase(components, paramsOf(components, "test-key-ecc-p256")));
    const printed = Buffer.from(
      "wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==",
      "base64",
    );
    expect(isSignedBy(publicKeyOf(rfcP256), base, printed)).toBe(true);
    expect(isSignedBy(publicKeyOf(rfcP256), base, printed.subarray(1))).toBe(false);
  });
});

test("Content-Digest is that of RFC 9530 §B.1", () => {
  expect(contentDigest(Buffer.from('{"hello": "world"}'))).toBe(
    "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
  );
});

const body = Buffer.from(
  '{"event_id":"evt_1","type":"payout.processed","version":"2026-01-01","ts":"2026-01-02T03:04:05.678Z","attempt":1}',
);
const sentAtMs = Date.parse("2026-01-02T03:04:06.000Z");
const parts = {
  method: "POST",
  url: new URL("https://Partner.example:8443/webhooks/v1/payout"),
  headers: {
    "X-Timestamp": "2026-01-02T03:04:06.000Z",
    "X-Event-Id": "evt_1",
    "X-Attempt": "1",
    "X-Webhook-Producer": "payments",
    "User-Agent": "Heliograph/1.2.3",
    "Content-Type": "application/json",
  },
  body,
  sentAtMs,
};

const ed25519 = signingKey("StandardWebhooks", countedKey);
const p256 = signingKey("HttpMessageSignatures", pemOf(rfcP256));

/** A request as `node:http` gives it to the recipient. */
function received(
  keys: readonly SigningKey[],
  changes: IncomingRequest["headers"] = {},
  target = "/webhooks/v1/payout",
): IncomingRequest {
  const sent = { ...parts.headers, ...messageSignatureHeaders(keys, parts) };
  const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]));
  return { method: "POST", target, headers: { ...headers, host: "partner.example:8443", ...changes }, body };
}

const verificationKey = (key: SigningKey, notAfterMs?: number) => {
  if ("secret" in key) throw new Error("a private key is needed");
  return {
    id: key.keyId,
    publicKey: createPublicKey(key.privateKey),
    ...(notAfterMs === undefined ? {} : { notAfterMs }),
  };
};
const kid = verificationKey(ed25519).id;

describe("the headers of a signed attempt", () => {
  test("equal those of Python's cryptography", () => {
    const covered =
      '"@method" "@authority" "@path" "content-digest" "content-type" "x-timestamp" "x-event-id" "x-attempt" ' +
      '"x-webhook-producer"';
    const keyId = "1IG2tMH7J2wbJZnOf8LJzQitKf7LMvoAElsuDMVM54Y";
    expect(messageSignatureHeaders([ed25519], parts)).toEqual({
      "Content-Digest": "sha-256=:FWdIBU6z1oaHE70Str0cMkwoP7nMUtgtz3ADuyUEEd0=:",
      "Signature-Input": `sig1=(${covered});created=1767323046;keyid="${keyId}";alg="ed25519"`,
      Signature: "sig1=:GFPjsQQCPKbY/7hkSVD/CjWFjl72WdF+0shMXGRoLL2SZ4+EMVB3HsQf6AAJlh1LGYvoHTF/f+vuVtTVPtU4Cg==:",
    });
  });

  test("cover the query when the endpoint has one, and the replay", () => {
    const replayed = {
      ...parts,
      url: new URL("https://partner.example/hook?a=1"),
      headers: { ...parts.headers, "X-Webhook-Replay": "r-1" },
    };
    const input = messageSignatureHeaders([ed25519], replayed)["Signature-Input"];
    expect(input).toContain('"@path" "@query" "content-digest"');
    expect(input).toContain('"x-webhook-producer" "x-webhook-replay")');
  });
});

describe("verifying an HTTP message signature", () => {
  const verify = (request: IncomingRequest, nowMs = sentAtMs, keys = [verificationKey(ed25519)]) =>
    verifyMessageSignature(keys, request, nowMs);

  test.each([
    ["Ed25519", ed25519],
    ["P-256", p256],
  ])("accepts what was signed with %s", (_, key) => {
    expect(verify(received([key]), sentAtMs, [verificationKey(key)])).toEqual({
      ok: true,
      keyId: verificationKey(key).id,
    });
  });

  test("uses old and new keys side by side (Webhook Event Delivery §5)", () => {
    const both = received([p256, ed25519]);
    expect(verify(both)).toEqual({ ok: true, keyId: kid });
    expect(verify(both, sentAtMs, [verificationKey(p256)])).toMatchObject({ ok: true });
    expect(verify(both, sentAtMs + 1, [verificationKey(ed25519, sentAtMs)])).toEqual({
      ok: false,
      fault: "signature_mismatch",
    });
  });

  test.each<readonly [string, IncomingRequest, string]>([
    ["no signature", received([ed25519], { signature: undefined }), "signature_missing"],
    ["no digest", received([ed25519], { "content-digest": undefined }), "digest_missing"],
    ["the digest of another body", { ...received([ed25519]), body: Buffer.from("{}") }, "digest_mismatch"],
    ["another method", { ...received([ed25519]), method: "PUT" }, "signature_mismatch"],
    ["another path", received([ed25519], {}, "/webhooks/v1/other"), "signature_mismatch"],
    ["another host", received([ed25519], { host: "other.example" }), "signature_mismatch"],
    ["another event id", received([ed25519], { "x-event-id": "evt_2" }), "signature_mismatch"],
    ["a covered header that is gone", received([ed25519], { "x-attempt": undefined }), "components_missing"],
    ["a covered header that is repeated", received([ed25519], { "x-attempt": ["1", "2"] }), "components_missing"],
    ["a key that is not known", received([p256]), "signature_mismatch"],
    ["a malformed Signature-Input", received([ed25519], { "signature-input": "sig1=()x" }), "signature_malformed"],
    ["a malformed Signature", received([ed25519], { signature: "sig1=abc" }), "signature_malformed"],
    ["a label without its signature", received([ed25519], { signature: "other=:AAAA:" }), "signature_missing"],
  ])("refuses %s", (_, request, fault) => {
    expect(verify(request)).toEqual({ ok: false, fault });
  });

  /** A request signed over less than ours are, by somebody who has the key. */
  function signedOver(components: readonly Component[], suffix: string): IncomingRequest {
    const params = `(${components.map(([name]) => `"${name}"`).join(" ")})${suffix}`;
    const signature = signBytes(
      "secret" in ed25519 ? privateKeyOf(rfcEd25519) : ed25519.privateKey,
      Buffer.from(signatureBase(components, params)),
    );
    return received([ed25519], {
      "signature-input": `sig1=${params}`,
      signature: `sig1=:${signature.toString("base64")}:`,
    });
  }
  const least: readonly Component[] = [
    ["@method", "POST"],
    ["@path", "/webhooks/v1/payout"],
    ["content-digest", contentDigest(body)],
  ];
  const valid = `;created=1767323046;keyid="${kid}"`;

  test.each([
    ["the least that must be covered", least, valid, undefined],
    ["no path", least.filter(([name]) => name !== "@path"), valid, "components_missing"],
    ["no digest", least.filter(([name]) => name !== "content-digest"), valid, "components_missing"],
    ["a component twice", [...least, ...least.slice(0, 1)], valid, "signature_malformed"],
    ["a component that is not known", [...least, ["@target-uri", "https://x/"] as const], valid, "components_missing"],
    ["no time", least, `;keyid="${kid}"`, "timestamp_missing"],
    ["a time that is a text", least, `;created="now";keyid="${kid}"`, "timestamp_malformed"],
    ["an end that is over", least, `${valid};expires=1767323045`, "timestamp_outside_window"],
    ["an end that is ahead", least, `${valid};expires=1767323050`, undefined],
    ["no key", least, ";created=1767323046", "signature_mismatch"],
  ] as const)("judges a signature over %s", (_, components, suffix, fault) => {
    expect(verify(signedOver(components, suffix))).toEqual(
      fault === undefined ? { ok: true, keyId: kid } : { ok: false, fault },
    );
  });

  test("checks the time of the signature (Webhook Event Delivery §5, §8)", () => {
    expect(verify(received([ed25519]), sentAtMs + 300_000)).toMatchObject({ ok: true });
    expect(verify(received([ed25519]), sentAtMs + 300_001)).toEqual({ ok: false, fault: "timestamp_outside_window" });
    expect(verify(received([ed25519]), sentAtMs - 300_001)).toEqual({ ok: false, fault: "timestamp_outside_window" });
  });
});
