import type { Clock } from "../../limits/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #nowMs: number;
  #order = 0;
  readonly #wallOffsetMs: number;

  /** @param wallStartMs what the wall shows at the start, Unix milliseconds */
  constructor(wallStartMs = Date.UTC(2026, 0, 1), startMs = 1_000) {
    this.#nowMs = startMs;
    this.#wallOffsetMs = wallStartMs - startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    this.#order += 1;
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Time until the first timer that waits is due; undefined when none does. */
  get nextInMs(): number | undefined {
    const next = this.#next(Number.POSITIVE_INFINITY);
    return next === undefined ? undefined : next.dueMs - this.#nowMs;
  }

  /** Moves on, calling back what falls due on the way, in order. */
  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs;
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
    }
    this.#nowMs = endMs;
  }

  /**
   * The same, in steps, letting promises settle between them, so that what a timer started may set timers of its own.
   */
  async advanceInSteps(byMs: number, stepMs: number): Promise<void> {
    for (let restMs = byMs; restMs > 0; restMs -= stepMs) {
      this.advance(Math.min(stepMs, restMs));
      await settle();
    }
  }

  #next(untilMs: number): Timer | undefined {
    const due = [...this.#timers].filter((timer) => timer.dueMs <= untilMs);
    return due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
  }
}

/** Lets everything that is ready to run do so, short of I/O. */
export async function settle(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
