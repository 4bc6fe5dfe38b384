import { publicKeySet, type PublicKeySet } from "./jwk.ts";
import { isInForce } from "./keys.ts";
import type { Signer } from "./signers.ts";

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
 * The public parts of all keys before their `notAfter`. A cached copy of the list expires at the first `notAfter` in
 * it. Source: RFC 9111 §5.2.2.1.
 */
export function publishedKeys(signers: readonly Signer[], nowMs: number): PublishedKeys {
  const inForce = signers.filter((signer) => isInForce(signer, nowMs));
  const ends = inForce.flatMap(({ notAfterMs }) => (notAfterMs === undefined ? [] : [notAfterMs]));
  const leftSeconds = Math.floor((Math.min(...ends) - nowMs) / secondMs);
  return { keySet: publicKeySet(inForce), maxAgeSeconds: Math.min(leftSeconds, publishedKeysSecondsMax) };
}
