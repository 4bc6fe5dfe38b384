interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** An object may have so many different events of one type at once, and then one more each minute. */
const burst = 10;
const refillMs = 60_000;
/** More objects than this share one minute only when a cluster is far beyond what the operator is made for. */
const bucketsMax = 20_000;

/**
 * How many different events one object may have. Warnings have tokens of their own, so that what is good news never
 * costs an object its warnings.
 */
export class EventBudget {
  /** By object and type, the one used longest ago first. */
  readonly #buckets = new Map<string, Bucket>();

  /** Takes a token, if there is one. */
  take(uid: string, type: string, nowMs: number): boolean {
    const key = `${type}/${uid}`;
    const { tokens, atMs } = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const refilled = Math.min(burst, tokens + (nowMs - atMs) / refillMs);
    const granted = refilled >= 1;
    this.#buckets.delete(key);
    this.#forgetOldest();
    this.#buckets.set(key, { tokens: granted ? refilled - 1 : refilled, atMs: nowMs });
    return granted;
  }

  /** A bucket that is forgotten is full again: that costs the server a few events, never an object its own. */
  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= bucketsMax && oldest !== undefined) this.#buckets.delete(oldest);
  }
}
