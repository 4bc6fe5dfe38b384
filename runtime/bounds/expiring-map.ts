import { BoundedMap } from "./bounded-map.ts";

interface Entry<V> {
  readonly value: V;
  readonly endsAtMs: number;
}

/**
 * A bounded map for values whose expiry is fixed when they are stored. A value is returned until its expiry and not at
 * it; the least recently set or used value is removed when there are too many. All times are of the caller's one clock.
 */
export class ExpiringMap<K, V> {
  readonly #entries: BoundedMap<K, Entry<V>>;

  constructor(entriesMax: number) {
    this.#entries = new BoundedMap(entriesMax);
  }

  /** The value, unless it has expired. The order of removal does not change. */
  get(key: K, nowMs: number): V | undefined {
    return current(this.#entries.get(key), nowMs);
  }

  /** The value, unless it has expired. It counts as used most recently. */
  use(key: K, nowMs: number): V | undefined {
    return current(this.#entries.use(key), nowMs);
  }

  set(key: K, value: V, endsAtMs: number): void {
    this.#entries.set(key, { value, endsAtMs });
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}

function current<V>(entry: Entry<V> | undefined, nowMs: number): V | undefined {
  return entry !== undefined && nowMs < entry.endsAtMs ? entry.value : undefined;
}
