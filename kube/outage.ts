import { type Clock, onAbort, pauseUntilAborted } from "../limits/clock.ts";

/** Fewer consecutive failures are no outage: one call can cause them. */
const failuresMin = 3;
/** Each waiting call resumes at a random moment within this time. */
const spreadMs = 500;
/** Least time between two wake-ups, for a connection that breaks again and again. */
const wakeEveryMs = 5_000;

/**
 * Detects an outage of the API server from all calls of this process. The first success after an outage ends the waits
 * that followed a failure; without it they would last for minutes.
 */
export class Outage {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #handlers = new Set<() => void>();
  #failures = 0;
  #wokeAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Records a call without a response. */
  failed(): void {
    this.#failures += 1;
  }

  /** Records a successful call. */
  succeeded(): void {
    const nowMs = this.#clock.nowMs();
    const isOutage = this.#failures >= failuresMin;
    if (isOutage && nowMs - this.#wokeAtMs < wakeEveryMs) return;
    this.#failures = 0;
    if (!isOutage) return;
    this.#wokeAtMs = nowMs;
    for (const handler of this.#handlers) handler();
  }

  /** Calls back shortly after each end of an outage. Returns a function that removes the handler. */
  onEnd(handler: () => void): () => void {
    const cancels = new Set<() => void>();
    const soon = (): void => {
      const cancel = this.#clock.after(spreadMs * this.#random(), () => {
        cancels.delete(cancel);
        handler();
      });
      cancels.add(cancel);
    };
    this.#handlers.add(soon);
    return () => {
      this.#handlers.delete(soon);
      for (const cancel of cancels) cancel();
    };
  }

  /**
   * Waits after a failure. The end of an outage shortens the wait. Never rejects.
   *
   * @param atLeastMs the server's `Retry-After`, a lower bound
   * @returns true when the end of an outage ended the wait
   */
  async pause(delayMs: number, signal?: AbortSignal, atLeastMs = 0): Promise<boolean> {
    if (delayMs <= 0 || signal?.aborted === true) return false;
    const startedMs = this.#clock.nowMs();
    const waiting = new AbortController();
    const end = (): void => waiting.abort();
    let isWoken = false;
    const forget = this.onEnd(() => {
      isWoken = true;
      end();
    });
    const forgetSignal = onAbort(signal, end);
    await pauseUntilAborted(this.#clock, delayMs, waiting.signal);
    forgetSignal();
    forget();
    if (isWoken) await pauseUntilAborted(this.#clock, startedMs + atLeastMs - this.#clock.nowMs(), signal);
    return isWoken;
  }
}
