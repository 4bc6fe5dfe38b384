import { waitInQueue } from "./clock.ts";

/**
 * A limited number of places that keys share. A key may hold at most as many places as are free, but always one. So one
 * busy key gets half of the places, and each of n busy keys gets `size / (n + 1)`. As many stay free: the next key gets
 * half of them at once, and its share as the others release theirs. With a reserve of r, a key may hold 1/r of the free
 * places, so that more stay free. Source: dynamic thresholds, Choudhury and Hahne, "Dynamic Queue Length Thresholds for
 * Shared-Memory Packet Switches" (1998).
 */
export class FairPlaces {
  readonly #held = new Map<string, number>();
  /** Callbacks of keys that want more than their share, the longest waiting first. */
  readonly #wanting = new Map<string, () => void>();
  readonly #keyMax: number;
  readonly #reserve: number;
  #size: number;
  #taken = 0;

  /**
   * @param keyMax places of one key at most. @default no limit but its share
   * @param reserve free places for each place of a key
   */
  constructor(size: number, keyMax = Number.POSITIVE_INFINITY, reserve = 1) {
    this.#size = size;
    this.#keyMax = keyMax;
    this.#reserve = reserve;
  }

  /** Places that the key may {@link take} now: at least one for a key without any, even above the size. */
  available(key: string): number {
    const held = this.#held.get(key) ?? 0;
    const least = held === 0 && this.#size > 0 ? 1 : 0;
    const free = this.#size - this.#taken;
    // Each place that the key takes is one more that it holds and one less that is free. All keys may request at once.
    const ofKey = Math.ceil((free - this.#reserve * held) / (this.#reserve + 1));
    const share = Math.min(ofKey, Math.ceil(free / Math.max(1, this.#held.size)));
    return Math.max(least, Math.min(share, this.#keyMax - held));
  }

  /** Takes a place; the caller must {@link release} it. */
  take(key: string): void {
    this.#taken += 1;
    this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
  }

  /** Takes a place unless all are taken or the key holds its share; the caller must then {@link release} it. */
  tryTake(key: string): boolean {
    const isAvailable = this.#taken < this.#size && this.available(key) > 0;
    if (isAvailable) this.take(key);
    return isAvailable;
  }

  /** Frees a place. Calls this key if it wants more, and the key that has wanted more for the longest time. */
  release(key: string): void {
    this.#taken -= 1;
    const held = (this.#held.get(key) ?? 1) - 1;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
    this.#call(key);
    const [oldest] = this.#wanting.keys();
    if (oldest !== undefined) this.#call(oldest);
  }

  /** Calls `onFree` once, when a place is free again. A key has one call at most. */
  want(key: string, onFree: () => void): void {
    if (!this.#wanting.has(key)) this.#wanting.set(key, onFree);
  }

  /** Changes the number of places; taken places stay taken. */
  resize(size: number): void {
    this.#size = size;
  }

  #call(key: string): void {
    const onFree = this.#wanting.get(key);
    this.#wanting.delete(key);
    onFree?.();
  }
}

/** A counting lock. Callers wait in order while all places are taken. */
export class Semaphore {
  /** In the order of arrival. */
  readonly #waiting = new Set<() => void>();
  #taken = 0;
  #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  /** True while no place is taken, so that nobody waits. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /**
   * Resolves when the caller has a place, and must {@link release} it.
   * @throws the signal's reason if it is aborted first
   */
  async acquire(signal?: AbortSignal): Promise<void> {
    if (!this.tryAcquire()) await waitInQueue(this.#waiting, signal);
  }

  /** Takes a place if one is free; the caller must then {@link release} it. */
  tryAcquire(): boolean {
    const isFree = this.#taken < this.#size;
    if (isFree) this.#taken += 1;
    return isFree;
  }

  /** Frees a place for the next caller. */
  release(): void {
    this.#taken -= 1;
    this.#admit();
  }

  /** Changes the number of places; taken places stay taken. */
  resize(size: number): void {
    this.#size = size;
    this.#admit();
  }

  #admit(): void {
    while (this.#taken < this.#size) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#waiting.delete(next);
      this.#taken += 1;
      next();
    }
  }
}
