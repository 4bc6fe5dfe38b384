import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { readSigningKey, type SigningScheme } from "../../../../crds/signing-key.ts";
import { signingKeyOf, type SigningKey } from "../../../../runtime/webhooks/signing/keys.ts";

/** RFC 9421 §B.1.4, `test-key-ed25519`. */
export const rfcEd25519: JsonWebKey = {
  kty: "OKP",
  crv: "Ed25519",
  d: "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
  x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
};

/** RFC 9421 §B.1.3, `test-key-ecc-p256`. */
export const rfcP256: JsonWebKey = {
  kty: "EC",
  crv: "P-256",
  d: "UpuF81l-kOxbjf7T4mNSv0r5tN67Gim7rnf6EFpcYDs",
  x: "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
  y: "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0",
};

/** The seed 0, 1, 2, … 31. */
export const countedKey = `whsk_${Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString("base64")}`;

/** The private key of a JWK. */
export function privateKeyOf(key: JsonWebKey): KeyObject {
  return createPrivateKey({ key, format: "jwk" });
}

/** The public half of a JWK. */
export function publicKeyOf(key: JsonWebKey): KeyObject {
  return createPublicKey(privateKeyOf(key));
}

/** The same private key in PEM, as a Secret holds it. */
export function pemOf(key: JsonWebKey): string {
  return privateKeyOf(key).export({ type: "pkcs8", format: "pem" }).toString();
}

/** A key as the sender reads it. @throws Error with the fault */
export function signingKey(scheme: SigningScheme, written: string): SigningKey {
  const read = readSigningKey(scheme, Buffer.from(written));
  if ("fault" in read) throw new Error(read.fault.message);
  return signingKeyOf(read);
}
