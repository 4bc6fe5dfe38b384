/** A number of places; whoever finds none waits its turn. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  /** Resolves when a place is taken for the caller, who must {@link release} it. */
  acquire(): Promise<void> {
    if (this.#taken < this.#size) {
      this.#taken += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Gives a place back, or on. */
  release(): void {
    this.#taken -= 1;
    this.#admit();
  }

  /** Changes the number of places; those that are taken stay taken. */
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
