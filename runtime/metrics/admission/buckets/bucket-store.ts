import { BoundedMap } from "../../../bounds/bounded-map.ts";
import { fullBucket, refilled, spent, type Bucket, type Rate } from "../../../bounds/token-bucket.ts";

/**
 * Buckets that are kept; the one unused for longest makes way, and is as new when it is needed again. About 300 bytes
 * each.
 */
const bucketsMax = 50_000;

/** Token buckets by key, each with the rate that it is asked with. */
export interface BucketStore {
  look(key: string, rate: Rate): Bucket;
  /** Takes tokens, also more than there are; a negative count gives back. */
  spend(key: string, rate: Rate, count: number): void;
}

/** @param begin what a bucket is that is not known. @default full */
export function createBucketStore(
  now: () => number,
  begin: (rate: Rate, nowMs: number) => Bucket = fullBucket,
): BucketStore {
  const kept = new BoundedMap<string, Bucket>(bucketsMax);
  const look = (key: string, rate: Rate): Bucket => {
    const nowMs = now();
    return refilled(kept.get(key) ?? begin(rate, nowMs), rate, nowMs);
  };
  return {
    look,
    spend: (key, rate, count) => kept.set(key, spent(look(key, rate), count)),
  };
}
