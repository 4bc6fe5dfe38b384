import { createPublicKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { SigningKey, VerificationKey } from "../../../../runtime/webhooks/signing/keys.ts";
import {
  standardWebhookHeaders,
  verifyStandardWebhooks,
  webhookId,
} from "../../../../runtime/webhooks/signing/standard-webhooks.ts";
import { countedKey, signingKey } from "./key-material.ts";

const key = (written: string): SigningKey => signingKey("StandardWebhooks", written);

const event = Buffer.from(
  '{"event_id":"evt_1","type":"payout.processed","version":"2026-01-01","ts":"2026-01-02T03:04:05.678Z","attempt":1}',
);
const sentAtMs = Date.parse("2026-01-02T03:04:06.789Z");
const shared = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY";

/**
 * The first two are those of the libraries at standard-webhooks/standard-webhooks. The others were made with Python's
 * hmac, and with `openssl pkeyutl -sign -rawin`.
 */
const vectors = [
  {
    what: "the specification's shared key",
    key: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    parts: {
      eventId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      sentAtMs: 1_614_265_330_000,
      body: Buffer.from('{"test": 2432232314}'),
    },
    signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
  {
    what: "the specification's private key",
    key: "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=",
    parts: {
      eventId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      sentAtMs: 1_614_265_330_000,
      body: Buffer.from('{"test": 2432232314}'),
    },
    signature: "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==",
  },
  {
    what: "a key of 24 bytes",
    key: shared,
    parts: { eventId: "evt_1", sentAtMs, body: event },
    signature: "v1,SRaHCClmGPN5hiicxL2+CWAog+pbifX3KycrxUzfOfs=",
  },
  {
    what: "an event id with a full stop",
    key: shared,
    parts: { eventId: "evt.1", sentAtMs, body: event },
    signature: "v1,mmhaVbDwaNc0DZ98VRMjIcQ3abnj49Ykm6/+MW8Bl80=",
  },
  {
    what: "a key without a prefix",
    key: "0123456789abcdef0123456789abcdef",
    parts: { eventId: "evt_1", sentAtMs, body: event },
    signature: "v1,v46qvxpnCI+5sXv/4rBvmgYsuo1FgpwBiA0wND7XC2I=",
  },
  {
    what: "a private key",
    key: countedKey,
    parts: { eventId: "evt_1", sentAtMs, body: event },
    signature: "v1a,pxxgQcedPkfiZpSiqXKXrdxb1qmHZr5EGdQEa1jZmu+j6JkCF2+s2E5LdGgCtNCuPTI+Y8utuN4HeuvzsuO8Dw==",
  },
] as const;

describe("a Standard Webhooks signature", () => {
  test.each(vectors)("with $what equals an independent one", (vector) => {
    const headers = standardWebhookHeaders([key(vector.key)], vector.parts);
    expect(headers).toEqual({
      "webhook-id": webhookId(vector.parts.eventId),
      "webhook-timestamp": String(Math.floor(vector.parts.sentAtMs / 1_000)),
      "webhook-signature": vector.signature,
    });
  });

  test("by two keys lists the newest first", () => {
    const headers = standardWebhookHeaders([key(countedKey), key(shared)], { eventId: "evt_1", sentAtMs, body: event });
    expect(headers["webhook-signature"]).toBe(`${vectors[5].signature} ${vectors[2].signature}`);
  });

  test("has a different id for every event id", () => {
    expect(["a.b", "a%2Eb", "a%b"].map(webhookId)).toEqual(["a%2Eb", "a%252Eb", "a%25b"]);
  });
});

const headersOf = (keys: readonly string[], eventId = "evt_1") =>
  standardWebhookHeaders(keys.map(key), { eventId, sentAtMs, body: event });

/** The halves that the recipient has. */
function known(written: string, id = "k1"): VerificationKey {
  const own = key(written);
  return "secret" in own ? { id, secret: own.secret } : { id, publicKey: createPublicKey(own.privateKey) };
}

const request = (headers: Readonly<Record<string, string>>, body: Uint8Array = event) => ({
  method: "POST",
  target: "/v1",
  headers,
  body,
});

describe("verifying Standard Webhooks", () => {
  test.each([
    ["a shared key", shared],
    ["a private key", countedKey],
  ])("accepts what was signed with %s", (_, written) => {
    expect(verifyStandardWebhooks([known(written)], request(headersOf([written])), sentAtMs)).toEqual({
      ok: true,
      keyId: "k1",
    });
  });

  test("uses old and new keys and compares every signature (Webhook Event Delivery §5)", () => {
    const old = { ...known(shared, "old"), notAfterMs: sentAtMs };
    const both = request(headersOf([countedKey, shared]));
    expect(verifyStandardWebhooks([old], both, sentAtMs)).toEqual({ ok: true, keyId: "old" });
    expect(verifyStandardWebhooks([old], both, sentAtMs + 1)).toEqual({ ok: false, fault: "signature_mismatch" });
    expect(verifyStandardWebhooks([known(countedKey, "new")], both, sentAtMs)).toEqual({ ok: true, keyId: "new" });
  });

  test("ignores signatures of unknown versions", () => {
    const headers = headersOf([shared]);
    const newer = { ...headers, "webhook-signature": `v9,AAAA ${headers["webhook-signature"]}` };
    expect(verifyStandardWebhooks([known(shared)], request(newer), sentAtMs)).toMatchObject({ ok: true });
  });

  test.each([
    ["no id", { "webhook-id": "" }, "signature_mismatch"],
    ["an id with a full stop", { "webhook-id": "evt_1.1767323046" }, "signature_malformed"],
    ["a timestamp in ISO 8601", { "webhook-timestamp": "2026-01-02T03:04:06Z" }, "timestamp_malformed"],
    [
      "a signature without a version",
      { "webhook-signature": "SRaHCClmGPN5hiicxL2+CWAog+pbifX3KycrxUzfOfs=" },
      "signature_malformed",
    ],
    ["another id", { "webhook-id": "evt_2" }, "signature_mismatch"],
    ["another second", { "webhook-timestamp": "1767323047" }, "signature_mismatch"],
    [
      "a signature behind eight other entries",
      { "webhook-signature": `${"v2,x ".repeat(8)}${vectors[2].signature}` },
      "signature_malformed",
    ],
    [
      "a shared signature in the place of a private one",
      { "webhook-signature": vectors[2].signature.replace("v1,", "v1a,") },
      "signature_malformed",
    ],
  ])("refuses %s", (_, changes, fault) => {
    expect(verifyStandardWebhooks([known(shared)], request({ ...headersOf([shared]), ...changes }), sentAtMs)).toEqual({
      ok: false,
      fault,
    });
  });

  test("refuses another body, an attempt outside the window and absent headers", () => {
    const verify = (changed: ReturnType<typeof request>, nowMs = sentAtMs) =>
      verifyStandardWebhooks([known(shared)], changed, nowMs);
    expect(verify(request(headersOf([shared]), Buffer.from("{}")))).toEqual({ ok: false, fault: "signature_mismatch" });
    expect(verify(request(headersOf([shared])), sentAtMs + 301_000)).toEqual({
      ok: false,
      fault: "timestamp_outside_window",
    });
    expect(verify(request({}))).toEqual({ ok: false, fault: "signature_missing" });
    const { "webhook-timestamp": _, ...untimed } = headersOf([shared]);
    expect(verify(request(untimed))).toEqual({ ok: false, fault: "timestamp_missing" });
  });
});
