import { fullBucket, refilled, spent, waitMs, type Bucket, type Rate } from "../../../limits/token-bucket.ts";

/**
 * A token bucket whose tokens can be taken in advance: the caller waits until its token exists. The clock belongs to
 * the caller, in milliseconds, and never goes back.
 */
export class RateLimiter {
  #rate: Rate;
  #bucket: Bucket;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#bucket = fullBucket(rate, nowMs);
  }

  /** Changes the rate. Available tokens stay, up to the new burst. */
  change(rate: Rate, nowMs: number): void {
    // The tokens until now were added at the old rate.
    this.#fill(nowMs);
    this.#rate = rate;
    this.#fill(nowMs);
  }

  /** Takes one token; returns the milliseconds until it exists. */
  take(nowMs: number): number {
    this.#bucket = spent(this.#fill(nowMs), 1);
    return waitMs(this.#bucket, this.#rate, 0);
  }

  /** Whole tokens that exist now. */
  available(nowMs: number): number {
    return Math.max(0, Math.floor(this.#fill(nowMs).tokens));
  }

  /** Milliseconds until `count` tokens exist, or a full bucket if that is less. */
  waitMs(count: number, nowMs: number): number {
    return waitMs(this.#fill(nowMs), this.#rate, Math.min(count, this.#rate.burst));
  }

  #fill(nowMs: number): Bucket {
    this.#bucket = refilled(this.#bucket, this.#rate, nowMs);
    return this.#bucket;
  }
}
