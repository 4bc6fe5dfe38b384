import type { Clock } from "../../limits/clock.ts";

interface CoalescerOptions {
  /** Time from the first change to the run for all changes, in milliseconds; later changes do not delay it. */
  readonly delayMs: number;
  /**
   * Pause after a run, as a multiple of its duration, at most `restMsMax`. Long runs are then less frequent, so that
   * many changes never occupy a processor alone.
   *
   * @default 0
   */
  readonly restFactor?: number;
  /** @default 0 */
  readonly restMsMax?: number;
  readonly clock: Clock;
  /**
   * Must not fail. Resolves with the milliseconds of the run that count for the pause, without waits for others.
   *
   * @default the duration of the run
   */
  readonly run: () => Promise<number | undefined>;
}

/** Combines many changes into one run. Runs never overlap; a change during a run starts another one. */
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

  /** Records a change. */
  touch(): void {
    if (this.#isStopped || this.#isDue || this.#cancel !== undefined) return;
    this.#fireAfter(this.#options.delayMs);
  }

  /** Stops; resolves when the last run has ended. */
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
    this.#running = this.#options.run().then((busyMs) => {
      this.#running = undefined;
      const endedMs = this.#options.clock.nowMs();
      this.#rest(endedMs, busyMs ?? endedMs - startedMs);
      this.#runDue();
    });
  }

  #rest(endedMs: number, busyMs: number): void {
    const { restFactor = 0, restMsMax = 0 } = this.#options;
    this.#restUntilMs = endedMs + Math.min(restMsMax, busyMs * restFactor);
  }
}
