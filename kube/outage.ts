import { type Clock, pause } from "./clock.ts";

/** Fewer failures in a row than this are those of one call, not of the server. */
const failuresMin = 3;
/** Whoever is woken comes back within so long, each at another moment. */
const spreadMs = 500;
/** A line that breaks all the time wakes nobody more often than this. */
const wakeEveryMs = 5_000;

/**
 * Whether the API server answers at all, as seen by every call of this process. The first success after an outage wakes
 * all who wait because of a failure: they would learn minutes later by themselves.
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

  /** A call got no answer at all. */
  failed(): void {
    this.#failures += 1;
  }

  /** A call succeeded. */
  succeeded(): void {
    const nowMs = this.#clock.nowMs();
    const isOutage = this.#failures >= failuresMin;
    if (isOutage && nowMs - this.#wokeAtMs < wakeEveryMs) return;
    this.#failures = 0;
    if (!isOutage) return;
    this.#wokeAtMs = nowMs;
    for (const handler of this.#handlers) handler();
  }

  /** Calls back, a moment after it, whenever an outage ends. Returns what takes that back. */
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
   * Waits after a failure, no longer than until an outage ends. Never rejects.
   *
   * @param atLeastMs what the server itself asked for, which nothing shortens
   * @returns whether the end of an outage ended the wait
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
    signal?.addEventListener("abort", end, { once: true });
    await pause(this.#clock, delayMs, waiting.signal);
    signal?.removeEventListener("abort", end);
    forget();
    if (isWoken) await pause(this.#clock, startedMs + atLeastMs - this.#clock.nowMs(), signal);
    return isWoken;
  }
}
