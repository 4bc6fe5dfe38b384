import type { Bucket } from "../../nats/streams/buckets.ts";
import { readAll, type RegisteredPartner } from "./partner-registry.ts";

/** Time for which an answer is given again. */
const rememberMs = 2_000;
/** Partners that are told of; what waits for those beyond shows when it ends. */
const removedMax = 32;

/**
 * Partners for whom something may wait though they are configured no more, as every pod can tell. @throws Error without
 * an answer
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
      nextAtMs = performance.now() + rememberMs;
    }
    return removed.filter(({ token }) => !has(token));
  };
}
