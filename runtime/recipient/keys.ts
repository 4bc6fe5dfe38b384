import { createPublicKey, createSecretKey, type JsonWebKey } from "node:crypto";
import { algorithmOf, readSigningKey, type SigningScheme } from "../../crds/signing-key.ts";
import type { VerificationKey } from "../webhooks/signing/keys.ts";

/** Public keys as the sender publishes them. Source: RFC 7517 §5. */
interface KeySet {
  readonly keys: readonly (JsonWebKey & { readonly kid?: string })[];
}

/**
 * Prepares a shared key once, which verifies faster than its bytes.
 * @param id the name of the key in reports
 * @param text the key as the sender gave it; Standard Webhooks may write it as `whsec_…`
 * @throws RangeError for a text that is no shared key of the scheme
 */
export function sharedKey(id: string, text: string, scheme: SigningScheme = "HmacV1"): VerificationKey {
  const read = readSigningKey(scheme, Buffer.from(text));
  if ("secret" in read) return { id, secret: createSecretKey(read.secret) };
  const why = "fault" in read ? read.fault.message : "is a private key, which only the sender has";
  throw new RangeError(`The key ${id} ${why}`);
}

/** Prepares a public key in PEM. @param id for RFC 9421 the `kid` of the sender's key set */
export function publicKey(id: string, pem: string): VerificationKey {
  return { id, publicKey: createPublicKey(pem) };
}

/** The keys of `/webhooks/partners/:namespace/:name/jwks.json`; keys that no scheme supports are left out. */
export function publicKeys({ keys }: KeySet): readonly VerificationKey[] {
  return keys.flatMap((jwk) => {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return jwk.kid === undefined || algorithmOf(key) === undefined ? [] : [{ id: jwk.kid, publicKey: key }];
  });
}
