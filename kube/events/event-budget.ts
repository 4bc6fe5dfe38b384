interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** Different events of one type that an object may have at once. Each minute adds one. */
const burst = 10;
const refillMs = 60_000;
/** Bound on buckets, above the objects that the operator supports. */
const bucketsMax = 20_000;

/**
 * Limits the different events of one object. Warnings have their own tokens, so that Normal events never use them up.
 */
export class EventBudget {
  /** By object and type, least recently used first. */
  readonly #buckets = new Map<string, Bucket>();

  /** Takes a token. Returns false without one. */
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

  /** Evicts the oldest bucket. It counts as full again, so no object loses an event. */
  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= bucketsMax && oldest !== undefined) this.#buckets.delete(oldest);
  }
}
