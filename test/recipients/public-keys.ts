import { createPublicKey, type JsonWebKey } from "node:crypto";
import { type SigningKey, publicJwkOf } from "../../runtime/webhooks/signing/keys.ts";
import { countedKey, pemOf, rfcEd25519, rfcP256, signingKey } from "../runtime/webhooks/signing/key-material.ts";

/** A key of P-384 that everybody knows: its number is the digits 0 to f, again and again. */
const countedP384: JsonWebKey = {
  kty: "EC",
  crv: "P-384",
  d: "ASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8BI0VniavN7wEjRWeJq83v",
  x: "XIakf0D27c1oyh49ESUi3IrJHOTBC3Q60-jiU48wvkiNUAN6AblA3cbfjXRlrhYm",
  y: "eJ5c1iRMeag7t9Oj5xOOudHyFqr9IVud68iVDYbMQBoR68kp0D46rjIfN1YIqjFD",
};

/** Private keys of the vectors. */
export const edKey = signingKey("StandardWebhooks", pemOf(rfcEd25519));
export const otherKey = signingKey("StandardWebhooks", countedKey);
export const p256Key = signingKey("HttpMessageSignatures", pemOf(rfcP256));
export const p384Key = signingKey("HttpMessageSignatures", pemOf(countedP384));

/** The same keys as a vector names them. */
export const edPublic = named(edKey, rfcEd25519);
export const p256Public = named(p256Key, rfcP256);
export const p384Public = named(p384Key, countedP384);

function named(key: SigningKey, jwk: JsonWebKey): { readonly id: string; readonly jwk: object } {
  const id = "keyId" in key ? key.keyId : "";
  return { id, jwk: publicJwkOf(createPublicKey({ key: jwk, format: "jwk" })) ?? {} };
}
