/**
 * A map that forgets: when the weights of its values exceed the bound, the ones set or used longest ago make way.
 *
 * Iteration is not offered on purpose: what a bounded map still holds is nobody's business but the one's who asks by
 * key.
 */
export class BoundedMap<K, V> {
  // Insertion order is the order of use.
  readonly #entries = new Map<K, V>();
  readonly #weightMax: number;
  readonly #weigh: (value: V) => number;
  #weight = 0;

  /**
   * @param weightMax what all values may weigh together
   * @param weigh always the same for the same value. @default 1 each, so that `weightMax` counts entries
   */
  constructor(weightMax: number, weigh: (value: V) => number = () => 1) {
    this.#weightMax = weightMax;
    this.#weigh = weigh;
  }

  /** What all values weigh together. */
  get weight(): number {
    return this.#weight;
  }

  /** The value, which grows no younger by being looked at. */
  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** The value, which is the youngest from now on. */
  use(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  /** Keeps a value as the youngest; one heavier than the bound is not kept, nor what it was to replace. */
  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight > this.#weightMax) return;
    this.#entries.set(key, value);
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#weightMax) return;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weigh(value);
  }
}
