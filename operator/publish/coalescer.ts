import type { Clock } from "../../kube/clock.ts";

interface CoalescerOptions {
  /** From the first change to the run that takes all of them in, in milliseconds; later changes do not put it off. */
  readonly delayMs: number;
  /**
   * After a run, so many times what it took is left to others before the next begins, within `restMsMax`: what is large
   * is done less often, so that many changes one after another never keep a processor to themselves.
   *
   * @default 0
   */
  readonly restFactor?: number;
  /** @default 0 */
  readonly restMsMax?: number;
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
  #restUntilMs = 0;

  constructor(options: CoalescerOptions) {
    this.#options = options;
  }

  /** Something changed. */
  touch(): void {
    if (this.#isStopped || this.#isDue || this.#cancel !== undefined) return;
    this.#fireAfter(this.#options.delayMs);
  }

  /** Runs no more; resolves when the last run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#running;
  }

  #fireAfter(delayMs: number): void {
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#cancel = undefined;
      this.#isDue = true;
      this.#runDue();
    });
  }

  #runDue(): void {
    if (!this.#isDue || this.#isStopped || this.#running !== undefined) return;
    this.#isDue = false;
    const startedMs = this.#options.clock.nowMs();
    const restMs = this.#restUntilMs - startedMs;
    if (restMs > 0) {
      this.#fireAfter(restMs);
      return;
    }
    this.#running = this.#options.run().finally(() => {
      this.#running = undefined;
      this.#rest(startedMs);
      this.#runDue();
    });
  }

  #rest(startedMs: number): void {
    const { clock, restFactor = 0, restMsMax = 0 } = this.#options;
    const endedMs = clock.nowMs();
    this.#restUntilMs = endedMs + Math.min(restMsMax, (endedMs - startedMs) * restFactor);
  }
}
