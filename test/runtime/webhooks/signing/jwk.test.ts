import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { publicJwkOf, publicKeySet, thumbprintOf } from "../../../../runtime/webhooks/signing/keys.ts";
import { privateKeyOf, publicKeyOf, rfcEd25519, rfcP256 } from "./key-material.ts";

describe("the JWK of a key", () => {
  test("of Ed25519 has the thumbprint of RFC 8037 §A.3", () => {
    const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
    expect(thumbprintOf(createPublicKey({ key, format: "jwk" }))).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  });

  test("holds no private part", () => {
    const { d: _, ...point } = rfcP256;
    const publicKey = publicKeyOf(rfcP256);
    expect(publicJwkOf(privateKeyOf(rfcP256))).toEqual({
      ...point,
      kid: thumbprintOf(publicKey),
      alg: "ES256",
      use: "sig",
    });
    expect(publicJwkOf(publicKey)).toEqual(publicJwkOf(privateKeyOf(rfcP256)));
  });

  test("is undefined for an unsupported algorithm", () => {
    expect(publicJwkOf(generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey)).toBeUndefined();
    expect(publicJwkOf(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey)).toBeUndefined();
  });
});

test("the key set of a partner holds public parts only, and no shared keys", () => {
  const signers = [
    { algorithm: "ed25519", privateKey: privateKeyOf(rfcEd25519) },
    { algorithm: "hmac-sha256" },
    { algorithm: "ecdsa-p256-sha256", privateKey: privateKeyOf(rfcP256) },
  ];
  const { keys } = publicKeySet(signers);
  expect(keys.map(({ kid }) => kid)).toEqual([
    thumbprintOf(publicKeyOf(rfcEd25519)),
    thumbprintOf(publicKeyOf(rfcP256)),
  ]);
  expect(JSON.stringify(keys)).not.toContain('"d"');
});
