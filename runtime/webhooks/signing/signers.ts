import { createSecretKey } from "node:crypto";
import { readPublishedKey, type SigningScheme } from "../../../crds/signing-key.ts";
import { isInForce, signingKeyOf, type SigningKey, publicKeySet, type PublicKeySet } from "./keys.ts";

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
