import { sign, verify, type KeyObject } from "node:crypto";
import { algorithmOf, type AsymmetricAlgorithm } from "../../../crds/signing-key.ts";

/** Digest of each algorithm; Ed25519 includes its own. */
const digests: Readonly<Record<AsymmetricAlgorithm, string | null>> = {
  ed25519: null,
  "ecdsa-p256-sha256": "sha256",
  "ecdsa-p384-sha384": "sha384",
};

/** Encodes ECDSA signatures as r and s without ASN.1. Source: RFC 9421 §3.3.4, RFC 7518 §3.4. */
const dsaEncoding = "ieee-p1363";

/** Signs with a private key of a supported algorithm. @throws TypeError for any other key */
export function signBytes(privateKey: KeyObject, data: Uint8Array): Buffer {
  return sign(digestFor(privateKey), data, { key: privateKey, dsaEncoding });
}

/** Whether the key made the signature. Any bytes may be given. @throws TypeError for a key of another algorithm */
export function isSignedBy(publicKey: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  return verify(digestFor(publicKey), data, { key: publicKey, dsaEncoding }, signature);
}

function digestFor(key: KeyObject): string | null {
  const algorithm = algorithmOf(key);
  if (algorithm === undefined) {
    throw new TypeError(`a key of type ${key.asymmetricKeyType ?? key.type} cannot sign; use Ed25519, P-256 or P-384`);
  }
  return digests[algorithm];
}
