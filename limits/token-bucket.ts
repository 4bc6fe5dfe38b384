/** The rate of a token bucket. */
export interface Rate {
  readonly perSecond: number;
  /** Most tokens at once: the capacity of the bucket. */
  readonly burst: number;
}

/** The tokens of a bucket at an instant. They are below zero when the cost turned out higher than expected. */
export interface Bucket {
  readonly tokens: number;
  /** Milliseconds. All calls for one bucket use one clock. */
  readonly atMs: number;
}

/** A bucket from which no token was taken. */
export function fullBucket({ burst }: Rate, atMs: number): Bucket {
  return { tokens: burst, atMs };
}

/** The bucket at a later instant. Tokens above the burst are lost, for example after a lower limit was set. */
export function refilled(bucket: Bucket, { perSecond, burst }: Rate, nowMs: number): Bucket {
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  return {
    tokens: Math.min(burst, bucket.tokens + (elapsedMs * perSecond) / 1_000),
    atMs: Math.max(bucket.atMs, nowMs),
  };
}

/** The bucket less `count` tokens, which can be more than it has. */
export function spent(bucket: Bucket, count: number): Bucket {
  return { ...bucket, tokens: bucket.tokens - count };
}

/** Milliseconds until the bucket has `count` tokens; infinite for more than its burst. */
export function waitMs({ tokens }: Bucket, { perSecond, burst }: Rate, count: number): number {
  if (count > burst) return Number.POSITIVE_INFINITY;
  return Math.max(0, ((count - tokens) * 1_000) / perSecond);
}
