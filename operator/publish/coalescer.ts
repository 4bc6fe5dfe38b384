import type { Clock } from "../kube/clock.ts";

export interface CoalescerOptions {
  /** From the first change to the run that takes all of them in, in milliseconds; later changes do not put it off. */
  readonly delayMs: number;
  readonly clock: Clock;
  /** Must not fail. */
  readonly run: () => Promise<void>;
}

/** Makes one run of many changes. Runs never overlap; a change during a run is for the next one. */
export class Coalescer {
  readonly #options: CoalescerOptions;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isDue = false;
  #isStopped = false;

  constructor(options: CoalescerOptions) {
    this.#options = options;
  }

  /** Something changed. */
  touch(): void {
    const { clock, delayMs } = this.#options;
    if (this.#isStopped || this.#isDue) return;
    this.#cancel ??= clock.after(delayMs, () => {
      this.#cancel = undefined;
      this.#isDue = true;
      this.#runDue();
    });
  }

  /** Runs no more; resolves when the last run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#running;
  }

  #runDue(): void {
    if (!this.#isDue || this.#isStopped || this.#running !== undefined) return;
    this.#isDue = false;
    this.#running = this.#options.run().finally(() => {
      this.#running = undefined;
      this.#runDue();
    });
  }
}
