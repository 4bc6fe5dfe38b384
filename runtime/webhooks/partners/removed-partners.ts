import type { Bucket } from "../../nats/streams/buckets.ts";
import { readAll, type RegisteredPartner } from "./partner-registry.ts";

/** Lifetime of a result. */
const lifetimeMs = 2_000;
/** Largest number of removed partners that are returned. The deliveries of others are visible once they end. */
const removedMax = 32;

/** A partner without configuration. `isRejected`: it may still exist, and its configuration is not applied. */
export interface UnconfiguredPartner extends RegisteredPartner {
  readonly isRejected: boolean;
}

interface Configured {
  readonly has: (token: string) => boolean;
  readonly mayExist: (token: string) => boolean;
}

/**
 * Returns a function that lists partners that are not configured but may have waiting messages. @throws Error without
 * an answer
 */
export function createRemovedPartners(
  bucket: Bucket,
  { has, mayExist }: Configured,
): () => Promise<readonly UnconfiguredPartner[]> {
  let removed: readonly RegisteredPartner[] = [];
  let nextAtMs = 0;
  return async () => {
    if (performance.now() >= nextAtMs) {
      removed = [...(await readAll(bucket, { isWanted: (token) => !has(token), countMax: removedMax })).values()];
      nextAtMs = performance.now() + lifetimeMs;
    }
    const unconfigured = removed.filter(({ token }) => !has(token));
    return unconfigured.map((partner) => ({ ...partner, isRejected: mayExist(partner.token) }));
  };
}
