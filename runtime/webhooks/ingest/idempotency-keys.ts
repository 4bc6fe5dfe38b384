import { hash } from "node:crypto";
import type { Bucket, BucketEntry } from "../../nats/streams/buckets.ts";

interface StoredResponse {
  readonly status: number;
  readonly body: object;
}

/**
 * The state of a key for a request.
 *
 * - `first`: the key was free and is reserved for this request now.
 * - `running`: a request with the same body has reserved it and has not ended.
 * - `known`: a request with the same body has ended with this response.
 * - `other`: the key was used with another body.
 */
type KeyState =
  | { readonly kind: "first" | "running" | "other" }
  | { readonly kind: "known"; readonly answer: StoredResponse };

/** Responses by `Idempotency-Key`, shared by all pods and stored for a day. */
export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>;

interface Entry {
  readonly digest: string;
  /** Absent while the request runs. */
  readonly answer?: StoredResponse;
}

/** Age at which a running request counts as lost with its process. Longer than the time limit of any response. */
const runningMsMax = 60_000;
const keyTriesMax = 3;

/** @param now JetStream's clock, Unix milliseconds */
export function createIdempotencyKeys(bucket: Bucket, now: () => number) {
  const claim = async (key: string, digest: string): Promise<KeyState> => {
    for (let tries = 0; tries < keyTriesMax; tries += 1) {
      const found = await bucket.get(entryKey(key));
      const known = found === undefined ? undefined : keyStateOf(found, digest, now());
      if (known !== undefined) return known;
      if (await bucket.putIf(entryKey(key), JSON.stringify({ digest }), found?.revision ?? 0)) return { kind: "first" };
    }
    return { kind: "running" };
  };
  return {
    /** Reserves a free key. @throws NoReplyError, or Error when the bucket is full */
    claim: (key: string, body: Uint8Array) => claim(key, digestOf(body)),
    /** Stores the response of the request that reserved the key. */
    keep: async (key: string, body: Uint8Array, answer: StoredResponse) =>
      void (await bucket.put(entryKey(key), JSON.stringify({ digest: digestOf(body), answer } satisfies Entry))),
    /** Frees the key of a request that changed nothing. */
    release: (key: string) => bucket.drop(entryKey(key)),
  };
}

/** Undefined for an entry of a lost request. */
function keyStateOf({ value, storedAtMs }: BucketEntry, digest: string, nowMs: number): KeyState | undefined {
  const entry = JSON.parse(value) as Entry;
  if (entry.digest !== digest) return { kind: "other" };
  if (entry.answer !== undefined) return { kind: "known", answer: entry.answer };
  return nowMs - storedAtMs > runningMsMax ? undefined : { kind: "running" };
}

/** Callers choose any text; keys of a bucket allow only some characters, so the text is hashed. */
function entryKey(key: string): string {
  return hash("sha256", key, "base64url");
}

function digestOf(body: Uint8Array): string {
  return hash("sha256", body, "base64url");
}
