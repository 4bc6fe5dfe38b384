/** How fast something may happen. */
export interface Rate {
  readonly perSecond: number;
  /** How much may happen at once after a pause. */
  readonly burst: number;
}

/** Tokens at an instant. Below zero: more was spent than was known beforehand. */
export interface Bucket {
  readonly tokens: number;
  /** Milliseconds of the clock that every call for this bucket is given. */
  readonly atMs: number;
}

/** A bucket nobody took from. */
export function fullBucket({ burst }: Rate, atMs: number): Bucket {
  return { tokens: burst, atMs };
}

/** The bucket at a later instant. One that holds more than it may, since its limits shrank, loses the rest. */
export function refilled(bucket: Bucket, { perSecond, burst }: Rate, nowMs: number): Bucket {
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  return {
    tokens: Math.min(burst, bucket.tokens + (elapsedMs * perSecond) / 1_000),
    atMs: Math.max(bucket.atMs, nowMs),
  };
}

/** The bucket without `count` tokens, which may be more than it has. */
export function spent(bucket: Bucket, count: number): Bucket {
  return { ...bucket, tokens: bucket.tokens - count };
}

/** Milliseconds until the bucket holds `count` tokens; infinite for more than it can hold. */
export function waitMs({ tokens }: Bucket, { perSecond, burst }: Rate, count: number): number {
  if (count > burst) return Number.POSITIVE_INFINITY;
  return Math.max(0, ((count - tokens) * 1_000) / perSecond);
}
