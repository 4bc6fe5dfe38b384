import { waitInQueue } from "./clock.ts";

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
