import type { Bucket } from "../../nats/streams/buckets.ts";
import { readAll, type RegisteredPartner } from "./partner-registry.ts";

/** Lifetime of a result. */
const lifetimeMs = 2_000;
/** Largest number of removed partners that are returned. The deliveries of others are visible once they end. */
const removedMax = 32;

/**
 * Returns a function that lists partners that are no longer configured but may have waiting messages. @throws Error
 * without an answer
 */
export function createRemovedPartners(
  bucket: Bucket,
  has: (token: string) => boolean,
): () => Promise<readonly RegisteredPartner[]> {
  let removed: readonly RegisteredPartner[] = [];
  let nextAtMs = 0;
  return async () => {
    if (performance.now() >= nextAtMs) {
      removed = [...(await readAll(bucket, { isWanted: (token) => !has(token), countMax: removedMax })).values()];
      nextAtMs = performance.now() + lifetimeMs;
    }
    return removed.filter(({ token }) => !has(token));
  };
}
