import { publicKeySet, type PublicKeySet } from "./jwk.ts";
import { isInForce } from "./keys.ts";
import type { Signer } from "./signers.ts";

/** The public keys of a partner at a moment, and how long a copy of them may be used. */
export interface PublishedKeys {
  readonly keySet: PublicKeySet;
  /** Whole seconds until the list changes by itself, at most {@link publishedKeysSecondsMax}. */
  readonly maxAgeSeconds: number;
}

/** Longest time that a copy of a key list is used: a new key is known to every recipient after it. */
const publishedKeysSecondsMax = 60;
const secondMs = 1_000;

/**
 * The public halves of the keys that sign, will sign, or signed and have not reached their `notAfter`. A copy of the
 * list ends with the first `notAfter` in it. Source: RFC 9111 §5.2.2.1.
 */
export function publishedKeys(signers: readonly Signer[], nowMs: number): PublishedKeys {
  const inForce = signers.filter((signer) => isInForce(signer, nowMs));
  const ends = inForce.flatMap(({ notAfterMs }) => (notAfterMs === undefined ? [] : [notAfterMs]));
  const leftSeconds = Math.floor((Math.min(...ends) - nowMs) / secondMs);
  return { keySet: publicKeySet(inForce), maxAgeSeconds: Math.min(leftSeconds, publishedKeysSecondsMax) };
}
