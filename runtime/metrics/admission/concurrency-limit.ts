import { isIPv4 } from "node:net";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import { type Bucket, fullBucket, type Rate, refilled, spent, waitMs } from "../../../limits/token-bucket.ts";
import { ApiError } from "../../errors/api-error.ts";

/** Seconds after which a rejected caller can try again. */
const retryAfterSeconds = 1;

/** Runs work up to a number at once. @throws ApiError `too_many_requests` above it */
type ConcurrencyLimit = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Creates a concurrency limit. @param detail of the rejections */
export function createConcurrencyLimit(most: number, detail: string): ConcurrencyLimit {
  let running = 0;
  return async (work) => {
    if (running >= most) throw new ApiError("too_many_requests", detail, { retryAfterSeconds });
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
}

/**
 * Rate of requests without a token from one block of addresses. Source: seed "Operational Metrics API" §8, "Request
 * rate per client".
 */
export const blockRate: Rate = { perSecond: 10, burst: 40 };
/** Rate of all requests without a token to one pod. */
export const togetherRate: Rate = { perSecond: 200, burst: 400 };
/** Most blocks with a bucket. Above it, the least recently used one is removed. */
const blocksMax = 10_000;

/** Limits requests without a token. */
export interface AnonymousLimit {
  /** Counts one request. @param address undefined for an unknown address @throws ApiError `too_many_requests` */
  take(address: string | undefined): void;
}

/** Creates a limit with full buckets. @param now monotonic milliseconds */
export function createAnonymousLimit(now: () => number): AnonymousLimit {
  const blocks = new BoundedMap<string, Bucket>(blocksMax);
  let together = fullBucket(togetherRate, now());
  return {
    take(address) {
      const nowMs = now();
      const block = addressBlock(address);
      const own = refilled(blocks.get(block) ?? fullBucket(blockRate, nowMs), blockRate, nowMs);
      together = refilled(together, togetherRate, nowMs);
      requireToken(own, blockRate, "too many requests without a token come from this network; send a token");
      requireToken(together, togetherRate, "too many requests without a token; send a token");
      blocks.set(block, spent(own, 1));
      together = spent(together, 1);
    },
  };
}

function requireToken(bucket: Bucket, rate: Rate, detail: string): void {
  const wait = waitMs(bucket, rate, 1);
  if (wait > 0) throw new ApiError("too_many_requests", detail, { retryAfterSeconds: Math.ceil(wait / 1_000) });
}

/** The /24 of an IPv4 address or the /48 of an IPv6 address, which providers assign to one customer. */
export function addressBlock(address = ""): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/iu, "");
  if (isIPv4(plain)) return plain.split(".", 3).join(".");
  const [head = "", tail] = plain.toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  // Groups after `::` are among the first three only when `::` stands for fewer than three zeros.
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  return [...groups, ...Array.from({ length: zeros }, () => "0"), ...rest].slice(0, 3).join(":");
}
