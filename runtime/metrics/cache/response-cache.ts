import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { Lifetimes, OldestReads } from "./extents.ts";

/** A recent response without a missing part. */
export interface CachedResponse {
  readonly response: MetricsResponse;
  /** Unix milliseconds of its creation. */
  readonly madeAtMs: number;
  /** Set when none of its points can change in the stores. */
  readonly isSettled: boolean;
  readonly oldest: OldestReads;
  /** Estimated size in memory. */
  readonly bytes: number;
}

/** Responses by the digest of everything that they depend on; the least recently used one is removed first. */
export interface ResponseCache {
  /** The response of this key, within the lifetimes of the caller's class. */
  find(key: string, lifetimes: Lifetimes, nowMs: number): CachedResponse | undefined;
  set(key: string, cached: CachedResponse): void;
}

/**
 * The remaining lifetime of a response. It ends when one of its points reaches its own lifetime, whichever caches that
 * point came through.
 *
 * @returns milliseconds; negative after the end
 */
export function leftMs(
  { isSettled, madeAtMs, oldest }: Omit<CachedResponse, "response" | "bytes">,
  lifetimes: Lifetimes,
  nowMs: number,
): number {
  const { settledMs, tailMs, sharedMs = 0 } = lifetimes;
  const ends = [
    madeAtMs + (isSettled ? settledMs : tailMs),
    oldest.settledMs + Math.max(settledMs, sharedMs),
    oldest.tailMs + tailMs,
  ];
  return Math.min(...ends) - nowMs;
}

/** Creates an empty cache. @param bytesMax bound on all responses, by their estimates */
export function createResponseCache(bytesMax: number): ResponseCache {
  const responses = new BoundedMap<string, CachedResponse>(bytesMax, ({ bytes }) => bytes);
  return {
    find(key, lifetimes, nowMs) {
      const found = responses.get(key);
      if (found === undefined || leftMs(found, lifetimes, nowMs) <= 0) return undefined;
      return responses.use(key);
    },
    set: (key, cached) => responses.set(key, cached),
  };
}
