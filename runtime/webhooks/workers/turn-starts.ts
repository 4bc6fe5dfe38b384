/** Starts in one turn of the event loop, which then takes a millisecond or two. */
const startsMaxDefault = 4;

/**
 * Spreads the starts of a lane over turns of the event loop. A backlog that drains would otherwise start as many
 * attempts at once as the partner has places, and the work of other partners would wait for all of them.
 */
export class TurnStarts {
  readonly #startsMax: number;
  readonly #waiting: (() => void)[] = [];
  #started = 0;
  #isScheduled = false;

  /** @param startsMax starts in one turn. @default 4 */
  constructor(startsMax = startsMaxDefault) {
    this.#startsMax = startsMax;
  }

  /** Resolves when the caller may start: now, or in one of the next turns, in the order of the calls. */
  async next(): Promise<void> {
    this.#schedule();
    if (this.#started < this.#startsMax && this.#waiting.length === 0) {
      this.#started += 1;
    } else {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #schedule(): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#turn());
    }
  }

  #turn(): void {
    this.#isScheduled = false;
    const ready = this.#waiting.splice(0, this.#startsMax);
    this.#started = ready.length;
    ready.forEach((start) => start());
    if (ready.length > 0) this.#schedule();
  }
}
