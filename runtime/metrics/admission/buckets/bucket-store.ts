import { BoundedMap } from "../../../../limits/bounded-map.ts";
import { fullBucket, refilled, spent, type Bucket, type Rate } from "../../../../limits/token-bucket.ts";

/** Most buckets, of about 300 bytes each. Above it, the least recently used one is removed and begins anew. */
const bucketsMax = 50_000;

/** Token buckets by key. Each call names the rate of its bucket. */
export interface BucketStore {
  look(key: string, rate: Rate): Bucket;
  /** Takes tokens, also more than the bucket has. A negative count returns tokens. */
  spend(key: string, rate: Rate, count: number): void;
}

/** Creates an empty store. @param begin the first state of a bucket. @default full */
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
