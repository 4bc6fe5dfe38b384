import { setImmediate } from "node:timers/promises";

/** Steps of validations in one turn of the event loop: some milliseconds. */
const stepsPerTurn = 20_000;
/** Parsing an event takes about as long as this share of a step for each byte. */
const stepsPerByte = 1 / 16;

/**
 * The work that events may cause in one turn of the event loop. The events of a batch, or those that a connection
 * brings at once, would otherwise add up to a pause.
 */
export class TurnBudget {
  #left = stepsPerTurn;
  #next: Promise<void> | undefined;

  /** Counts work that was done. */
  spend(steps: number): void {
    this.#left -= steps;
    // A turn ends even if no event waits for the next one.
    if (this.#next === undefined) this.#next = this.#refill();
  }

  /** Counts the parsing of an event. */
  spendBytes(bytes: number): void {
    this.spend(bytes * stepsPerByte);
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** Resolves in the next turn. Others may spend its budget first, so check {@link isSpent} again. */
  get next(): Promise<void> {
    return this.#next ?? Promise.resolve();
  }

  async #refill(): Promise<void> {
    await setImmediate();
    this.#left = stepsPerTurn;
    this.#next = undefined;
  }
}
