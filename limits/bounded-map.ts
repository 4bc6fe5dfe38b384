// Results of calls by key: those that are kept, and those that callers still wait for.
import { backgroundClock, type Clock, untilAborted } from "./clock.ts";

interface Entry<V> {
  readonly value: V;
  readonly endsAtMs: number;
}

/** A value in the order of use. */
interface Used<K, V> {
  readonly key: K;
  readonly value: V;
  readonly weight: number;
  /** Time of the last use, on the clock of the map. */
  atMs: number;
  older: Used<K, V> | undefined;
  newer: Used<K, V> | undefined;
}

/** When a {@link BoundedMap} removes unused values. */
interface UnusedValues {
  /** Time after their last use, in milliseconds. */
  readonly unusedMs: number;
  /** @default backgroundClock */
  readonly clock?: Pick<Clock, "nowMs" | "after">;
}

/**
 * A map with a bound on the weight of its values. Above the bound, it removes the least recently set or used values. It
 * offers no iteration, because its content depends on the use by others.
 *
 * The order of use is a list. In the order of a `Map`, each use would delete and add its entry, and an iterator that
 * waits at the oldest entry holds every table that the `Map` has outgrown, with the values in it.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, Used<K, V>>();
  #oldest: Used<K, V> | undefined;
  #newest: Used<K, V> | undefined;
  readonly #weightMax: number;
  readonly #weigh: (value: V) => number;
  readonly #unused: Required<UnusedValues> | undefined;
  #isWaiting = false;
  #weight = 0;

  /**
   * @param weightMax greatest weight of all values together
   * @param weigh called once for each stored value. @default 1, so that `weightMax` counts entries
   * @param unused when values are removed that were neither set nor used. @default never
   */
  constructor(weightMax: number, weigh: (value: V) => number = () => 1, unused?: UnusedValues) {
    this.#weightMax = weightMax;
    this.#weigh = weigh;
    this.#unused = unused && { clock: backgroundClock, ...unused };
  }

  /** The weight of all values together. */
  get weight(): number {
    return this.#weight;
  }

  /** The value of a key. The order of removal does not change. */
  get(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** The value of a key. It counts as used most recently. */
  use(key: K): V | undefined {
    const used = this.#entries.get(key);
    if (used !== undefined) {
      this.#unlink(used);
      this.#append(used);
    }
    return used?.value;
  }

  /** Stores a value as the most recent. A value above the bound is not stored, and the value before it is removed. */
  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight > this.#weightMax) return;
    const used: Used<K, V> = { key, value, weight, atMs: 0, older: undefined, newer: undefined };
    this.#entries.set(key, used);
    this.#append(used);
    this.#weight += weight;
    while (this.#weight > this.#weightMax && this.#oldest !== undefined) this.delete(this.#oldest.key);
    if (!this.#isWaiting) this.#removeUnused();
  }

  delete(key: K): void {
    const used = this.#entries.get(key);
    if (used === undefined) return;
    this.#entries.delete(key);
    this.#unlink(used);
    this.#weight -= used.weight;
  }

  /** Removes values that are unused for too long, and waits for the next one. */
  #removeUnused(): void {
    if (this.#unused === undefined) return;
    const { unusedMs, clock } = this.#unused;
    const endMs = clock.nowMs() - unusedMs;
    while (this.#oldest !== undefined && this.#oldest.atMs <= endMs) this.delete(this.#oldest.key);
    this.#isWaiting = this.#oldest !== undefined;
    if (this.#oldest === undefined) return;
    clock.after(Math.max(1, this.#oldest.atMs - endMs), () => this.#removeUnused());
  }

  #append(used: Used<K, V>): void {
    if (this.#unused !== undefined) used.atMs = this.#unused.clock.nowMs();
    used.older = this.#newest;
    used.newer = undefined;
    if (this.#newest === undefined) this.#oldest = used;
    else this.#newest.newer = used;
    this.#newest = used;
  }

  #unlink({ older, newer }: Used<K, V>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
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

/**
 * Runs one call per key and shares its result, or its error, with all concurrent callers. A caller with a signal stops
 * waiting when that is aborted; any other caller waits until the call ends. The call is aborted when its last caller
 * has stopped waiting.
 *
 * @throws what the call throws; the signal's reason when the signal is aborted
 */
export type SingleFlight<Shared = unknown> = <Result extends Shared>(
  key: string,
  call: (signal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
) => Promise<Result>;

interface Flight {
  readonly result: Promise<unknown>;
  readonly ending: AbortController;
  isOver: boolean;
  callers: number;
}

/** Creates a single-flight without calls. Equal keys stand for equal calls, so that their results have one type. */
export function createSingleFlight<Shared = unknown>(): SingleFlight<Shared> {
  const flights = new Map<string, Flight>();
  const remove = (key: string, flight: Flight): void => {
    if (flights.get(key) === flight) flights.delete(key);
  };
  const start = (key: string, call: (signal: AbortSignal) => Promise<unknown>): Flight => {
    const ending = new AbortController();
    const flight: Flight = { result: call(ending.signal), ending, isOver: false, callers: 0 };
    flights.set(key, flight);
    const end = (): void => {
      flight.isOver = true;
      remove(key, flight);
    };
    flight.result.then(end, end);
    return flight;
  };
  return async <Result extends Shared>(
    key: string,
    call: (signal: AbortSignal) => Promise<Result>,
    signal?: AbortSignal,
  ) => {
    signal?.throwIfAborted();
    const flight = flights.get(key) ?? start(key, call);
    flight.callers += 1;
    try {
      return (await (signal === undefined ? flight.result : untilAborted(flight.result, signal))) as Result;
    } finally {
      flight.callers -= 1;
      if (flight.callers === 0) {
        // The next caller starts a new call, because this one is aborted.
        remove(key, flight);
        if (!flight.isOver) flight.ending.abort();
      }
    }
  };
}
