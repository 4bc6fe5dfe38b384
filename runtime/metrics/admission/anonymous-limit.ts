import { isIPv4 } from "node:net";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import { fullBucket, refilled, spent, waitMs, type Bucket, type Rate } from "../../bounds/token-bucket.ts";
import { Refusal } from "../../errors/refusal.ts";

/**
 * Requests without a token from one block of addresses. Source: seed "Operational Metrics API" §8, "Request rate per
 * client".
 */
export const blockRate: Rate = { perSecond: 10, burst: 40 };
/** Requests without a token that one pod takes from everybody together. */
export const togetherRate: Rate = { perSecond: 200, burst: 400 };
/** Blocks that are remembered; the one unseen for longest makes way. */
const blocksMax = 10_000;

/** Counts requests without a token. */
export interface AnonymousLimit {
  /** @param address undefined: of nobody knows where @throws Refusal `too_many_requests` */
  take(address: string | undefined): void;
}

/** Nothing was asked yet. @param now monotonic milliseconds */
export function createAnonymousLimit(now: () => number): AnonymousLimit {
  const blocks = new BoundedMap<string, Bucket>(blocksMax);
  let together = fullBucket(togetherRate, now());
  return {
    take(address) {
      const nowMs = now();
      const block = addressBlock(address);
      const own = refilled(blocks.get(block) ?? fullBucket(blockRate, nowMs), blockRate, nowMs);
      together = refilled(together, togetherRate, nowMs);
      requireToken(own, blockRate, "too many requests without a token come from this network");
      requireToken(together, togetherRate, "too many requests come without a token");
      blocks.set(block, spent(own, 1));
      together = spent(together, 1);
    },
  };
}

function requireToken(bucket: Bucket, rate: Rate, detail: string): void {
  const wait = waitMs(bucket, rate, 1);
  if (wait > 0) throw new Refusal("too_many_requests", detail, { retryAfterSeconds: Math.ceil(wait / 1_000) });
}

/** The /24 of an IPv4 address, the /48 of an IPv6 one: what one customer of a provider is given. */
export function addressBlock(address = ""): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/iu, "");
  if (isIPv4(plain)) return plain.split(".", 3).join(".");
  const [head = "", tail] = plain.toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  // Only groups before `::` are in the first three, unless fewer than three zeros stand for it.
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  return [...groups, ...Array.from({ length: zeros }, () => "0"), ...rest].slice(0, 3).join(":");
}
