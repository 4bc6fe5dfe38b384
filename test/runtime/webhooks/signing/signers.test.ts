import { describe, expect, test } from "vitest";
import { readSigners, signersAt } from "../../../../runtime/webhooks/signing/keys.ts";
import { signHmacV1 } from "../../../../runtime/webhooks/signing/hmac-v1.ts";
import { countedKey, pemOf, rfcEd25519, rfcP256 } from "./key-material.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const material = {
  new: base64("n".repeat(32)),
  old: base64("o".repeat(32)),
  short: base64("short"),
  whsk: base64(countedKey),
  ed25519: base64(pemOf(rfcEd25519)),
  p256: base64(pemOf(rfcP256)),
};
const rotating = readSigners("HmacV1", [{ material: "new" }, { material: "old", notAfterMs: 1_000 }], material);
const parts = { timestamp: "2026-01-02T03:04:05.678Z", method: "POST", path: "/", body: Buffer.from("{}") };
const signatures = (signers: typeof rotating): readonly string[] => {
  return signers.map((signer) => ("secret" in signer ? signHmacV1(signer.secret, parts) : signer.algorithm));
};

describe("the keys that sign", () => {
  test("are only the first, because the recipient has old and new (Webhook Event Delivery §5.4)", () => {
    expect(signatures(signersAt(rotating, false, 0))).toEqual([signHmacV1(Buffer.from("n".repeat(32)), parts)]);
  });

  test.each([
    [1_000, 2],
    [1_001, 1],
  ])("side by side at %d are %d, until the last moment of the old one", (nowMs, count) => {
    expect(signersAt(rotating, true, nowMs)).toEqual(rotating.slice(0, count));
  });

  test.each([
    ["HmacV1", "new", "hmac-sha256"],
    ["StandardWebhooks", "new", "hmac-sha256"],
    ["StandardWebhooks", "whsk", "ed25519"],
    ["HttpMessageSignatures", "ed25519", "ed25519"],
    ["HttpMessageSignatures", "p256", "ecdsa-p256-sha256"],
  ] as const)("of %s may be %s", (scheme, name, algorithm) => {
    expect(readSigners(scheme, [{ material: name }], material)).toMatchObject([{ algorithm }]);
  });

  test.each([
    ["is missing", "gone"],
    ["is too short", "short"],
  ])("are none when the first %s", (_, first) => {
    expect(readSigners("HmacV1", [{ material: first }, { material: "old" }], material)).toEqual([]);
  });

  test("leave out a later one without bytes", () => {
    expect(readSigners("HmacV1", [{ material: "new" }, { material: "gone" }], material)).toHaveLength(1);
  });
});
