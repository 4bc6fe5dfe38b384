import { describe, expect, test } from "vitest";
import { publishedKeys, readSigners, type Signer } from "../../../../runtime/webhooks/signing/keys.ts";
import { pemOf, rfcEd25519, rfcP256 } from "./key-material.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const material = { ed: base64(pemOf(rfcEd25519)), ec: base64(pemOf(rfcP256)), shared: base64("s".repeat(32)) };
const endMs = 1_800_000_000_000;

function signers(...keys: readonly [material: string, notAfterMs?: number][]): readonly Signer[] {
  const named = keys.map(([name, notAfterMs]) => ({
    material: name,
    ...(notAfterMs === undefined ? {} : { notAfterMs }),
  }));
  return readSigners("HttpMessageSignatures", named, material);
}

describe("the keys that are published for a partner", () => {
  test.each([
    ["an hour before the end of the old one", endMs - 3_600_000, ["EdDSA", "ES256"], 60],
    ["a minute and a millisecond before it", endMs - 60_001, ["EdDSA", "ES256"], 60],
    ["less than a minute before it", endMs - 59_999, ["EdDSA", "ES256"], 59],
    ["less than a second before it", endMs - 999, ["EdDSA", "ES256"], 0],
    ["in its last millisecond", endMs, ["EdDSA", "ES256"], 0],
    ["a millisecond after it", endMs + 1, ["EdDSA"], 60],
  ] as const)("%s", (_, nowMs, algorithms, maxAgeSeconds) => {
    const { keySet, ...rest } = publishedKeys(signers(["ed"], ["ec", endMs]), nowMs);
    expect([keySet.keys.map(({ alg }) => alg), rest]).toEqual([[...algorithms], { maxAgeSeconds }]);
  });

  test("hold a later key before it signs", () => {
    expect(publishedKeys(signers(["ed"], ["ec"]), endMs).keySet.keys.map(({ alg }) => alg)).toEqual(["EdDSA", "ES256"]);
  });

  test("may be cached for a minute when there is none", () => {
    expect(publishedKeys([], endMs)).toEqual({ keySet: { keys: [] }, maxAgeSeconds: 60 });
  });
});
