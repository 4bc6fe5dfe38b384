import { createPublicKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import { deliveryHeaders, type SignedAttempt } from "../../../../runtime/webhooks/signing/signed-request.ts";
import { verifyHmacV1 } from "../../../../runtime/webhooks/signing/hmac-v1.ts";
import { schemes } from "../../../../runtime/webhooks/signing/schemes.ts";
import { countedKey, signingKey } from "./key-material.ts";

const secret = Buffer.from("0123456789abcdef0123456789abcdef");

const attempt: SignedAttempt = {
  keys: [{ algorithm: "hmac-sha256", secret }],
  url: new URL("https://partner.example/webhooks/v1/pay out"),
  body: Buffer.from('{"event_id":"evt_1","attempt":3}'),
  eventId: "evt_1",
  attempt: 3,
  producer: "payments",
  sentAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  version: "1.2.3",
  endpointHeaders: {},
};

describe("the headers of an attempt", () => {
  test("are those of the seed, with the time of this attempt (Webhook Event Delivery §4.1)", () => {
    const { "X-Signature": signature, ...others } = deliveryHeaders("HmacV1", attempt);
    expect(signature).toMatch(/^v1=[A-Za-z0-9+/]{43}=$/u);
    expect(others).toEqual({
      "X-Timestamp": "2026-01-02T03:04:05.006Z",
      "X-Event-Id": "evt_1",
      "X-Attempt": "3",
      "X-Webhook-Producer": "payments",
      "User-Agent": "Heliograph/1.2.3",
      "Content-Type": "application/json",
      "Accept-Encoding": "identity",
    });
  });

  test("carry a signature over the path as it stands on the wire (Webhook Event Delivery §5)", () => {
    const headers = deliveryHeaders("HmacV1", attempt);
    const received = {
      signature: headers["X-Signature"],
      timestamp: headers["X-Timestamp"],
      method: "POST",
      path: "/webhooks/v1/pay%20out",
      body: attempt.body,
    };
    const keys = [{ id: "k", secret }];
    expect(verifyHmacV1(keys, received, attempt.sentAtMs)).toEqual({ ok: true, keyId: "k" });
  });

  test.each([
    ["StandardWebhooks", ["webhook-id", "webhook-timestamp", "webhook-signature"]],
    ["HttpMessageSignatures", ["Content-Digest", "Signature-Input", "Signature"]],
  ] as const)("signed by %s are the same besides the signature, and verify", (scheme, added) => {
    const keys = [signingKey("StandardWebhooks", countedKey)];
    const headers = deliveryHeaders(scheme, { ...attempt, keys });
    const { "X-Signature": _, ...common } = deliveryHeaders("HmacV1", attempt);
    expect(Object.keys(headers).toSorted()).toEqual([...Object.keys(common), ...added].toSorted());
    const [key] = keys;
    if (key === undefined || "secret" in key) throw new Error("a private key is needed");
    const lowercase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
    const request = {
      method: "POST",
      target: "/webhooks/v1/pay%20out",
      headers: { ...Object.fromEntries(lowercase), host: "partner.example" },
      body: attempt.body,
    };
    const known = [{ id: key.keyId, publicKey: createPublicKey(key.privateKey) }];
    expect(schemes[scheme].verify(known, request, attempt.sentAtMs)).toEqual({ ok: true, keyId: key.keyId });
  });

  test("carry the trace that the attempt is in", () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    expect(deliveryHeaders("HmacV1", { ...attempt, traceparent })).toMatchObject({ traceparent });
  });

  test("name the replay that the attempt belongs to", () => {
    expect(deliveryHeaders("HmacV1", { ...attempt, replayId: "r-1" })).toMatchObject({ "X-Webhook-Replay": "r-1" });
  });

  test("name the origin that asked for consent, once whatever the case of a fixed header (CloudEvents web hooks §4)", () => {
    const endpointHeaders = { "webhook-request-origin": "other.example", "x-route": "blue" };
    expect(deliveryHeaders("HmacV1", { ...attempt, endpointHeaders })).toMatchObject(endpointHeaders);
    const headers = deliveryHeaders("HmacV1", { ...attempt, endpointHeaders, requestOrigin: "events.example" });
    const named = Object.entries(headers).filter(([name]) => /^webhook-request-origin$/iu.test(name));
    expect(named).toEqual([["WebHook-Request-Origin", "events.example"]]);
  });

  test("keep the endpoint's own, except one that the sender sets", () => {
    const endpointHeaders = { "x-route": "blue", "x-signature": "v1=forged", "content-type": "text/plain" };
    const headers = deliveryHeaders("HmacV1", { ...attempt, endpointHeaders });
    expect(headers["x-route"]).toBe("blue");
    expect(Object.keys(headers).filter((name) => /^x-signature$|^content-type$/u.test(name))).toEqual([]);
  });
});
