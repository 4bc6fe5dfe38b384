/** How fast something may happen. */
export interface Rate {
  readonly perSecond: number;
  /** How much may happen at once after a pause. */
  readonly burst: number;
}

const secondMs = 1_000;

/**
 * Tokens that come at a steady rate and pile up to a bound. Taking never fails: who takes more than there is waits in
 * the order of taking. The clock is the caller's, in milliseconds, and never goes back.
 */
export class TokenBucket {
  #rate: Rate;
  #tokens: number;
  #atMs: number;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#atMs = nowMs;
  }

  /** Changes the rate; what has piled up stays, as far as the new bound allows. */
  change(rate: Rate, nowMs: number): void {
    this.#fill(nowMs);
    this.#rate = rate;
    this.#tokens = Math.min(this.#tokens, rate.burst);
  }

  /** Takes one token and answers how long to wait until it is there, in milliseconds. */
  take(nowMs: number): number {
    this.#fill(nowMs);
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens * secondMs) / this.#rate.perSecond;
  }

  /** Whole tokens that are there now. */
  available(nowMs: number): number {
    this.#fill(nowMs);
    return Math.max(0, Math.floor(this.#tokens));
  }

  /** Milliseconds until `count` tokens, or as many as pile up at most, are there. */
  waitMs(count: number, nowMs: number): number {
    this.#fill(nowMs);
    const missing = Math.min(count, this.#rate.burst) - this.#tokens;
    return Math.max(0, (missing * secondMs) / this.#rate.perSecond);
  }

  #fill(nowMs: number): void {
    const gained = ((nowMs - this.#atMs) * this.#rate.perSecond) / secondMs;
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + Math.max(0, gained));
    this.#atMs = Math.max(this.#atMs, nowMs);
  }
}
