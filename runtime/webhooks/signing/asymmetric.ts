import { sign, verify, type KeyObject } from "node:crypto";
import { algorithmOf, type AsymmetricAlgorithm } from "../../../crds/signing-key.ts";

/** Digest of each algorithm; Ed25519 has its own. */
const digests: Readonly<Record<AsymmetricAlgorithm, string | null>> = {
  ed25519: null,
  "ecdsa-p256-sha256": "sha256",
  "ecdsa-p384-sha384": "sha384",
};

/** Both numbers of an ECDSA signature side by side, as RFC 9421 §3.3.4 and RFC 7518 §3.4 have them, not in ASN.1. */
const dsaEncoding = "ieee-p1363";

/** Signs with a private key of a kind that schemes know. @throws TypeError for any other key */
export function signBytes(privateKey: KeyObject, data: Uint8Array): Buffer {
  return sign(digestFor(privateKey), data, { key: privateKey, dsaEncoding });
}

/**
 * Whether a signature is by the key; no signature makes this throw. @throws TypeError for a key that no scheme knows
 */
export function isSignedBy(publicKey: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  return verify(digestFor(publicKey), data, { key: publicKey, dsaEncoding }, signature);
}

function digestFor(key: KeyObject): string | null {
  const algorithm = algorithmOf(key);
  if (algorithm === undefined) {
    throw new TypeError(`a key of kind ${key.asymmetricKeyType ?? key.type} cannot sign`);
  }
  return digests[algorithm];
}
