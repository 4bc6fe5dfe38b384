import { BoundedMap } from "./bounded-map.ts";

interface Entry<V> {
  readonly value: V;
  readonly endsAtMs: number;
}

/**
 * A bounded map for values whose expiry is fixed when they are stored. It returns a value before its expiry only. Above
 * its bound, it removes the least recently set or used value. All times come from one clock of the caller.
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
