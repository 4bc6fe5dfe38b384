/** A counting lock. Callers wait in order while all places are taken. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  /** Resolves when the caller has a place, and must {@link release} it. */
  acquire(): Promise<void> {
    return this.tryAcquire() ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Takes a place if one is free; the caller must then {@link release} it. */
  tryAcquire(): boolean {
    const isFree = this.#taken < this.#size;
    if (isFree) {
      this.#taken += 1;
    }
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
      const next = this.#waiting.shift();
      if (next === undefined) {
        return;
      }
      this.#taken += 1;
      next();
    }
  }
}
