import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { Lifetimes, OldestReads } from "./extents.ts";

/** All answers that are kept at once, by what they are told to take. */
const keptBytesMax = 64 * 1024 * 1024;

/** A whole answer of the last seconds. */
export interface CachedResponse {
  readonly answer: MetricsResponse;
  /** Unix milliseconds at which it was made. */
  readonly madeAtMs: number;
  /** Whether no point of it changes any more in its stores. */
  readonly isSettled: boolean;
  readonly oldest: OldestReads;
  /** Memory that it takes, roughly. */
  readonly bytes: number;
}

/** Whole answers by the digest of everything that they depend on; the one unused for longest makes way. */
export interface ResponseCache {
  /** The answer of this name, if it is no older than this caller's class allows. */
  find(key: string, lifetimes: Lifetimes, nowMs: number): CachedResponse | undefined;
  keep(key: string, kept: CachedResponse): void;
}

/**
 * For how long an answer may still be served: no point may be older than its lifetime, however often it was passed on.
 *
 * @returns milliseconds; below zero when it is over
 */
export function leftMs(
  { isSettled, madeAtMs, oldest }: Omit<CachedResponse, "answer" | "bytes">,
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

/** None yet. */
export function createResponseCache(bytesMax: number = keptBytesMax): ResponseCache {
  const kept = new BoundedMap<string, CachedResponse>(bytesMax, ({ bytes }) => bytes);
  return {
    find(key, lifetimes, nowMs) {
      const found = kept.get(key);
      if (found === undefined || leftMs(found, lifetimes, nowMs) <= 0) return undefined;
      return kept.use(key);
    },
    keep: (key, own) => kept.set(key, own),
  };
}
