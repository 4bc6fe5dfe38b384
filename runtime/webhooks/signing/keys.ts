import { createPublicKey, type KeyObject, hash, sign, verify, createSecretKey } from "node:crypto";
import {
  algorithmOf,
  type AsymmetricAlgorithm,
  type ReadSigningKey,
  readPublishedKey,
  type SigningScheme,
} from "../../../crds/signing-key.ts";

/** Bytes of a shared key, or a key object made from them once, which signs seven times as fast. */
export type HmacKey = Uint8Array | KeyObject;

/** A key that signs. */
export type SigningKey =
  | { readonly algorithm: "hmac-sha256"; readonly secret: HmacKey }
  | {
      readonly algorithm: AsymmetricAlgorithm;
      readonly privateKey: KeyObject;
      /** Name of the key for recipients: {@link thumbprintOf} of its public key. */
      readonly keyId: string;
    };

/** A shared key that a recipient accepts. */
interface SharedKey {
  readonly id: string;
  readonly secret: HmacKey;
  /** Unix milliseconds after which the key is invalid. @default never */
  readonly notAfterMs?: number;
}

/** A public key that a recipient accepts. */
interface PublicKey {
  /** For HttpMessageSignatures the `kid` of the sender's key set. */
  readonly id: string;
  readonly publicKey: KeyObject;
  /** Unix milliseconds after which the key is invalid. @default never */
  readonly notAfterMs?: number;
}

/** A key that a recipient accepts. */
export type VerificationKey = SharedKey | PublicKey;

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

/** Digest of each algorithm; Ed25519 includes its own. */
const digests: Readonly<Record<AsymmetricAlgorithm, string | null>> = {
  ed25519: null,
  "ecdsa-p256-sha256": "sha256",
  "ecdsa-p384-sha384": "sha384",
};

/** Encodes ECDSA signatures as r and s without ASN.1. Source: RFC 9421 §3.3.4, RFC 7518 §3.4. */
const dsaEncoding = "ieee-p1363";

/** Prepares a parsed key for signing. */
export function signingKeyOf(key: ReadSigningKey): SigningKey {
  return "secret" in key ? key : { ...key, keyId: thumbprintOf(createPublicKey(key.privateKey)) };
}

/** The shared keys that are in force. */
export function sharedKeysAt(keys: readonly VerificationKey[], nowMs: number): readonly SharedKey[] {
  return keys.filter((key): key is SharedKey => "secret" in key && isInForce(key, nowMs));
}

/** The public keys that are in force and have a supported algorithm. */
export function publicKeysAt(keys: readonly VerificationKey[], nowMs: number): readonly PublicKey[] {
  return keys.filter(
    (key): key is PublicKey => "publicKey" in key && isInForce(key, nowMs) && algorithmOf(key.publicKey) !== undefined,
  );
}

/** Whether a key is valid at this time, its `notAfter` included. */
function isInForce({ notAfterMs }: { readonly notAfterMs?: number }, nowMs: number): boolean {
  return notAfterMs === undefined || nowMs <= notAfterMs;
}

/** The public part of a private or public key as a JWK; undefined for an unsupported algorithm. */
export function publicJwkOf(key: KeyObject): PublicJwk | undefined {
  const algorithm = algorithmOf(key);
  if (algorithm === undefined) return undefined;
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
  if (algorithm === undefined)
    throw new TypeError(`a key of type ${key.asymmetricKeyType ?? key.type} cannot sign; use Ed25519, P-256 or P-384`);
  return digests[algorithm];
}

/** A signing key of a partner. */
export type Signer = SigningKey & {
  /** Its id in the configuration. @default none, outside of a configuration */
  readonly id?: string;
  /** Unix milliseconds after which it does not sign. @default never */
  readonly notAfterMs?: number;
};

/** A key in the configuration of a partner. */
interface SignerConfig {
  readonly id?: string;
  /** Name of the key in the material. */
  readonly material: string;
  readonly notAfterMs?: number;
}

/** The public keys of a partner at one time, and the lifetime of a cached copy. */
export interface PublishedKeys {
  readonly keySet: PublicKeySet;
  /** Whole seconds until the next scheduled change of the list, at most {@link publishedKeysSecondsMax}. */
  readonly maxAgeSeconds: number;
}

/** Longest lifetime of a cached key list. After it, every recipient knows a new key. */
const publishedKeysSecondsMax = 60;
const secondMs = 1_000;

/**
 * Reads the keys of a partner in their order. `material` holds their bytes in base64. A key whose bytes are missing or
 * invalid for the scheme is left out. Without the first key there are none, because it must sign every attempt.
 */
export function readSigners(
  scheme: SigningScheme,
  keys: readonly SignerConfig[],
  material: Readonly<Record<string, string>>,
): readonly Signer[] {
  const read = keys.map((key) => readSigner(scheme, key, material[key.material]));
  return read[0] === undefined ? [] : read.filter((signer) => signer !== undefined);
}

/** The keys that sign an attempt now: the first valid key, or side by side all valid keys. */
export function signersAt(signers: readonly Signer[], isSideBySide: boolean, nowMs: number): readonly Signer[] {
  const inForce = signers.filter((signer) => isInForce(signer, nowMs));
  return isSideBySide ? inForce : inForce.slice(0, 1);
}

function readSigner(
  scheme: SigningScheme,
  { id, notAfterMs }: SignerConfig,
  base64: string | undefined,
): Signer | undefined {
  const key = readPublishedKey(scheme, Buffer.from(base64 ?? "", "base64"));
  if ("fault" in key) return undefined;
  // A key object signs seven times as fast as its bytes.
  const ready = "secret" in key ? { ...key, secret: createSecretKey(key.secret) } : signingKeyOf(key);
  return { ...ready, ...(id === undefined ? {} : { id }), ...(notAfterMs === undefined ? {} : { notAfterMs }) };
}

/**
 * The public parts of all keys before their `notAfter`. A cached copy of the list expires at the first `notAfter` in
 * it. Source: RFC 9111 §5.2.2.1.
 */
export function publishedKeys(signers: readonly Signer[], nowMs: number): PublishedKeys {
  const inForce = signers.filter((signer) => isInForce(signer, nowMs));
  const ends = inForce.flatMap(({ notAfterMs }) => (notAfterMs === undefined ? [] : [notAfterMs]));
  const leftSeconds = Math.floor((Math.min(...ends) - nowMs) / secondMs);
  return { keySet: publicKeySet(inForce), maxAgeSeconds: Math.min(leftSeconds, publishedKeysSecondsMax) };
}
