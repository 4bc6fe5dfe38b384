import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalString,
  hmacV1Signatures,
  signHmacV1,
  verifyHmacV1,
  type ReceivedParts,
} from "../../../../runtime/webhooks/signing/hmac-v1.ts";
import {
  signatureWindowMs,
  type VerificationResult,
} from "../../../../runtime/webhooks/signing/verification-result.ts";

const secret = Buffer.from("0123456789abcdef0123456789abcdef");
const event = Buffer.from(
  '{"event_id":"evt_1","type":"payout.processed","version":"2026-01-01","ts":"2026-01-02T03:04:05.678Z","attempt":1}',
);

/**
 * Made with Python's hashlib and hmac; the second also with
 * `openssl dgst -sha256 -mac HMAC -macopt key:… -binary | base64` over the canonical string.
 */
const vectors = [
  {
    what: "an event",
    secret,
    parts: { timestamp: "2026-01-02T03:04:06.000Z", method: "POST", path: "/webhooks/v1/payout", body: event },
    bodyHash: "156748054eb3d6868713bd12b6bd1c324c283fb9cc52d82dcf7003bb250411dd",
    signature: "v1=kefLAdAmLJi7/mrPj95NbbhnXB7fJr1J2SnRfpEGarg=",
  },
  {
    what: "an empty body",
    secret,
    parts: {
      timestamp: "2026-01-02T03:04:06.000Z",
      method: "POST",
      path: "/webhooks/v1/payout",
      body: Buffer.alloc(0),
    },
    bodyHash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    signature: "v1=ekB8nVdpaAp8ubBkGV9GnfQSAW+asBMH8l1ub0jZUQQ=",
  },
  {
    what: "a binary key, an escaped path and a body beyond ASCII",
    secret: Buffer.from(Array.from({ length: 48 }, (_, index) => index)),
    parts: {
      timestamp: "2026-11-30T23:59:59.999Z",
      method: "POST",
      path: "/h%C3%B6ok/v1/a%20b",
      body: Buffer.from('{"naïve":"日本"}'),
    },
    bodyHash: "a873f5d817bf9061270a037ca3eaeb2308316f9d4ec340948fec7e2e4db2dbd8",
    signature: "v1=UFSukc7cdHVpbCRHxAFSCt6A4tXErv/kwXn6/sQW5iM=",
  },
] as const;

describe("the canonical string", () => {
  test.each(vectors)(
    "of $what joins four parts by line feeds, none at the end (Webhook Event Delivery §5)",
    (vector) => {
      const { timestamp, path } = vector.parts;
      expect(canonicalString(vector.parts)).toBe(`${timestamp}\nPOST\n${path}\n${vector.bodyHash}`);
    },
  );
});

describe("a HmacV1 signature", () => {
  test.each(vectors)("of $what equals an independent one (Webhook Event Delivery §5)", (vector) => {
    expect(signHmacV1(vector.secret, vector.parts)).toBe(vector.signature);
  });
});

const sentAtMs = Date.parse("2026-01-02T03:04:06.000Z");
const received: ReceivedParts = { ...vectors[0].parts, signature: vectors[0].signature };
const key = { id: "new", secret };

function result(change: Partial<ReceivedParts>, nowMs = sentAtMs): VerificationResult {
  return verifyHmacV1([key], { ...received, ...change }, nowMs);
}

describe("verifying", () => {
  test("accepts a signed request", () => {
    expect(result({})).toEqual({ ok: true, keyId: "new" });
  });

  test.each([
    ["no signature", { signature: undefined }, "signature_missing"],
    ["no timestamp", { timestamp: undefined }, "timestamp_missing"],
    ["a timestamp in seconds", { timestamp: "1767323046" }, "timestamp_malformed"],
    ["a timestamp of another zone", { timestamp: "2026-01-02T03:04:06.000+00:00" }, "timestamp_malformed"],
    ["a timestamp that is no time", { timestamp: "2026-13-02T03:04:06.000Z" }, "timestamp_malformed"],
    ["another version", { signature: received.signature?.replace("v1=", "v2=") }, "signature_malformed"],
    ["a hexadecimal signature", { signature: `v1=${"ab".repeat(32)}` }, "signature_malformed"],
    [
      "a signature behind eight other entries",
      { signature: `${"v2=x,".repeat(8)}${received.signature}` },
      "signature_malformed",
    ],
    ["a signature in a longer entry", { signature: `${received.signature}x` }, "signature_malformed"],
    ["30 February", { timestamp: "2026-02-30T03:04:06.000Z" }, "timestamp_malformed"],
    [
      "the same bytes spelled with other spare bits",
      { signature: "v1=kefLAdAmLJi7/mrPj95NbbhnXB7fJr1J2SnRfpEGarh=" },
      "signature_mismatch",
    ],
    ["another timestamp inside the window", { timestamp: "2026-01-02T03:04:06.001Z" }, "signature_mismatch"],
    ["another method", { method: "PUT" }, "signature_mismatch"],
    ["another path", { path: "/webhooks/v1/payout/" }, "signature_mismatch"],
    ["a query in the path", { path: "/webhooks/v1/payout?x=1" }, "signature_mismatch"],
    ["another body", { body: Buffer.from(`${event.toString()} `) }, "signature_mismatch"],
  ] as readonly (readonly [string, Partial<ReceivedParts>, string])[])(
    "refuses %s (Webhook Event Delivery §5)",
    (_, change, fault) => {
      expect(result(change)).toEqual({ ok: false, fault });
    },
  );

  test.each([
    ["300 s old is inside", signatureWindowMs, true],
    ["300 s ahead is inside", -signatureWindowMs, true],
    ["a millisecond older is outside", signatureWindowMs + 1, false],
    ["a millisecond further ahead is outside", -signatureWindowMs - 1, false],
  ])("a timestamp that is %s the window (Webhook Event Delivery §5, §8)", (_, ageMs, ok) => {
    expect(result({}, sentAtMs + ageMs)).toEqual(ok ? { ok, keyId: "new" } : { ok, fault: "timestamp_outside_window" });
  });

  test("uses old and new keys (Webhook Event Delivery §5)", () => {
    const rotated = [{ id: "newer", secret: Buffer.alloc(32, 7) }, key];
    expect(verifyHmacV1(rotated, received, sentAtMs)).toEqual({ ok: true, keyId: "new" });
  });

  test("compares every signature when keys sign side by side (Webhook Event Delivery §5)", () => {
    const newer = Buffer.alloc(32, 7);
    const signature = hmacV1Signatures(
      [newer, secret].map((one) => ({ algorithm: "hmac-sha256", secret: one })),
      vectors[0].parts,
    );
    expect(signature).toBe(`${signHmacV1(newer, vectors[0].parts)},${vectors[0].signature}`);
    expect(result({ signature })).toEqual({ ok: true, keyId: "new" });
    expect(verifyHmacV1([{ id: "newer", secret: newer }], { ...received, signature }, sentAtMs)).toEqual({
      ok: true,
      keyId: "newer",
    });
  });

  test("refuses a key after its notAfter", () => {
    const old = { ...key, notAfterMs: sentAtMs };
    expect(verifyHmacV1([old], received, sentAtMs)).toEqual({ ok: true, keyId: "new" });
    expect(verifyHmacV1([old], received, sentAtMs + 1)).toEqual({ ok: false, fault: "signature_mismatch" });
  });

  test("refuses everything without a key", () => {
    expect(verifyHmacV1([], received, sentAtMs)).toEqual({ ok: false, fault: "signature_mismatch" });
  });

  test("accepts a request signed with its key, and none that differs by one byte", () => {
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(bytes, bytes, fc.nat(), fc.integer({ min: 1, max: 255 }), (anySecret, body, where, change) => {
        const parts = { timestamp: "2026-01-02T03:04:06.000Z", method: "POST", path: "/v1/x", body };
        const signature = signHmacV1(anySecret, parts);
        const keys = [{ id: "k", secret: anySecret }];
        expect(verifyHmacV1(keys, { ...parts, signature }, sentAtMs)).toEqual({ ok: true, keyId: "k" });
        const changed = body.map((byte, index) => (index === where % body.length ? byte ^ change : byte));
        expect(verifyHmacV1(keys, { ...parts, body: changed, signature }, sentAtMs).ok).toBe(false);
      }),
    );
  });
});
