import { fullBucket, refilled, spent, waitMs, type Bucket, type Rate } from "../../bounds/token-bucket.ts";

/**
 * Tokens that come at a steady rate and pile up to a bound. Taking never fails: who takes more than there is waits in
 * the order of taking. The clock is the caller's, in milliseconds, and never goes back.
 */
export class RateLimiter {
  #rate: Rate;
  #bucket: Bucket;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#bucket = fullBucket(rate, nowMs);
  }

  /** Changes the rate; what has piled up stays, as far as the new bound allows. */
  change(rate: Rate, nowMs: number): void {
    // What came until now came at the old rate.
    this.#fill(nowMs);
    this.#rate = rate;
    this.#fill(nowMs);
  }

  /** Takes one token and answers how long to wait until it is there, in milliseconds. */
  take(nowMs: number): number {
    this.#bucket = spent(this.#fill(nowMs), 1);
    return waitMs(this.#bucket, this.#rate, 0);
  }

  /** Whole tokens that are there now. */
  available(nowMs: number): number {
    return Math.max(0, Math.floor(this.#fill(nowMs).tokens));
  }

  /** Milliseconds until `count` tokens, or as many as pile up at most, are there. */
  waitMs(count: number, nowMs: number): number {
    return waitMs(this.#fill(nowMs), this.#rate, Math.min(count, this.#rate.burst));
  }

  #fill(nowMs: number): Bucket {
    this.#bucket = refilled(this.#bucket, this.#rate, nowMs);
    return this.#bucket;
  }
}
