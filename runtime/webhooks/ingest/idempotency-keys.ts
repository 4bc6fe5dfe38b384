import { hash } from "node:crypto";
import type { Bucket, BucketEntry } from "../../nats/streams/buckets.ts";

/** What a request came to. */
interface StoredResponse {
  readonly status: number;
  readonly body: object;
}

/**
 * What is known of a key.
 *
 * - `first`: nothing; it is claimed for this request now.
 * - `running`: a request with the same body has claimed it and has not ended.
 * - `known`: what such a request came to.
 * - `other`: it was used with another body.
 */
type KeyState =
  | { readonly kind: "first" | "running" | "other" }
  | { readonly kind: "known"; readonly answer: StoredResponse };

/** Outcomes of requests by their `Idempotency-Key`, for every pod and a day. Source: wire, "Both APIs". */
export interface IdempotencyKeys {
  /** @throws Unanswered, or Error when nothing more can be kept */
  claim(key: string, body: Uint8Array): Promise<KeyState>;
  /** Keeps what the request came to that claimed the key. */
  keep(key: string, body: Uint8Array, answer: StoredResponse): Promise<void>;
  /** Lets the key go, since nothing was done under it. */
  release(key: string): Promise<void>;
}

interface Entry {
  readonly digest: string;
  /** Absent while the request runs. */
  readonly answer?: StoredResponse;
}

/** A request that takes longer than this is gone with its process. Longer than any answer may take. */
const runningMsMax = 60_000;
const keyTriesMax = 3;

/** @param now JetStream's clock, Unix milliseconds */
export function createIdempotencyKeys(bucket: Bucket, now: () => number): IdempotencyKeys {
  const claim = async (key: string, digest: string): Promise<KeyState> => {
    for (let tries = 0; tries < keyTriesMax; tries += 1) {
      const found = await bucket.get(entryKey(key));
      const known = found === undefined ? undefined : keyStateOf(found, digest, now());
      if (known !== undefined) {
        return known;
      }
      if (await bucket.putIf(entryKey(key), JSON.stringify({ digest }), found?.revision ?? 0)) {
        return { kind: "first" };
      }
    }
    return { kind: "running" };
  };
  return {
    claim: (key, body) => claim(key, digestOf(body)),
    keep: (key, body, answer) =>
      bucket.put(entryKey(key), JSON.stringify({ digest: digestOf(body), answer } satisfies Entry)),
    release: (key) => bucket.drop(entryKey(key)),
  };
}

/** Undefined for an entry that counts no more. */
function keyStateOf({ value, storedAtMs }: BucketEntry, digest: string, nowMs: number): KeyState | undefined {
  const entry = JSON.parse(value) as Entry;
  if (entry.digest !== digest) {
    return { kind: "other" };
  }
  if (entry.answer !== undefined) {
    return { kind: "known", answer: entry.answer };
  }
  return nowMs - storedAtMs > runningMsMax ? undefined : { kind: "running" };
}

/** Keys are what callers like; a bucket's are tokens. */
function entryKey(key: string): string {
  return hash("sha256", key, "base64url");
}

function digestOf(body: Uint8Array): string {
  return hash("sha256", body, "base64url");
}
