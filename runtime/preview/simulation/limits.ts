import type { DeliveryConfig } from "../../../crds/config.ts";
import { placeOf } from "./sorted-place.ts";

/** When attempts of a partner may begin. Attempts are asked for in the order of their instants. */
export interface Limits {
  /** The earliest permitted start at or after an instant, Unix milliseconds. */
  startMs(atMs: number): number;
  add(startMs: number, endMs: number): void;
}

const secondMs = 1_000;

/** The limits of a partner over all pods: attempts in flight, and a token bucket. */
export function createLimits({ maxInFlight, rate }: Pick<DeliveryConfig, "maxInFlight" | "rate">): Limits {
  // In order; the last ones decide when a place is free.
  const ends: number[] = [];
  const intervalMs = rate === undefined ? 0 : secondMs / rate.perSecond;
  const burstMs = rate === undefined ? 0 : (rate.burst - 1) * intervalMs;
  let nextFreeMs = Number.NEGATIVE_INFINITY;
  return {
    startMs: (atMs) => Math.max(atMs, ends.at(-maxInFlight) ?? atMs, nextFreeMs - burstMs),
    add: (startMs, endMs) => {
      ends.splice(
        placeOf(ends, (end) => end > endMs),
        0,
        endMs,
      );
      if (ends.length > maxInFlight) ends.shift();
      nextFreeMs = Math.max(nextFreeMs, startMs) + intervalMs;
    },
  };
}
