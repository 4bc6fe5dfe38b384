import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { algorithmOf, type AsymmetricAlgorithm } from "../../../crds/signing-key.ts";

/** One public key of a JWK set. Source: RFC 7517 §4, RFC 8037 §2. */
interface PublicJwk {
  readonly kty: "OKP" | "EC";
  readonly crv: string;
  readonly x: string;
  /** Present for `EC`. */
  readonly y?: string;
  readonly kid: string;
  readonly alg: "EdDSA" | "ES256" | "ES384";
  readonly use: "sig";
}

/** A JWK set of public keys. Source: RFC 7517 §5. */
export interface PublicKeySet {
  readonly keys: readonly PublicJwk[];
}

const joseNames: Readonly<Record<AsymmetricAlgorithm, PublicJwk["alg"]>> = {
  ed25519: "EdDSA",
  "ecdsa-p256-sha256": "ES256",
  "ecdsa-p384-sha384": "ES384",
};

/** The public part of a private or public key as a JWK; undefined for an unsupported algorithm. */
export function publicJwkOf(key: KeyObject): PublicJwk | undefined {
  const algorithm = algorithmOf(key);
  if (algorithm === undefined) {
    return undefined;
  }
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  const kty = algorithm === "ed25519" ? "OKP" : "EC";
  const { crv = "", x = "", y } = publicKey.export({ format: "jwk" });
  const point = { crv, x, ...(y === undefined ? {} : { y }) };
  return { kty, ...point, kid: thumbprintOf(publicKey), alg: joseNames[algorithm], use: "sig" };
}

/** The public parts of signing keys. Shared keys have none. */
export function publicKeySet(
  signers: readonly { readonly algorithm: string; readonly privateKey?: KeyObject }[],
): PublicKeySet {
  return {
    keys: signers.flatMap(({ privateKey }) => (privateKey === undefined ? [] : (publicJwkOf(privateKey) ?? []))),
  };
}

/**
 * SHA-256 thumbprint of a public key in base64url. It depends on the key alone. Source: RFC 7638 §3.
 */
export function thumbprintOf(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: "jwk" });
  // The required members, in lexicographic order.
  return hash("sha256", JSON.stringify({ crv, kty, x, ...(y === undefined ? {} : { y }) }), "base64url");
}
