import { type BackoffOptions, backoffMs } from "../backoff.ts";
import { type Clock, systemClock } from "../../limits/clock.ts";
import type { KubeMetrics } from "../metrics.ts";
import type { Outage } from "../outage.ts";
import { type Priority, QueueState, type TakenKey } from "./queue-state.ts";

export interface WorkQueueOptions {
  /** Label of its metrics: the controller's name. */
  readonly name: string;
  readonly metrics: KubeMetrics;
  /** @default the machine's */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
  /** Waits between the retries of one key. @default 5 ms doubling to 5 min, 20 % jitter */
  readonly backoff?: BackoffOptions;
  /** Its end ends the waits of keys that failed. @default none */
  readonly outage?: Outage | undefined;
  /** Bound on keys. The next relist repeats rejected keys. @default 200,000 */
  readonly keysMax?: number;
}

/** Keys that a shutdown left undone. */
export interface LeftOver {
  /** Keys that no worker had taken. */
  readonly queued: number;
  /** Keys that workers still held. */
  readonly running: number;
}

/** Waits between the retries of one key. */
const queueBackoffDefault: BackoffOptions = { baseMs: 5, maxMs: 300_000, jitter: 0.2 };
const keysMaxDefault = 200_000;
const priorities: readonly Priority[] = ["edit", "resync"];

/**
 * A queue of keys to reconcile. At most one worker holds a key. It holds keys, not objects: a worker reads the current
 * state when it starts. {@link QueueState} has the rules; this class adds the clock, workers and metrics.
 */
export class WorkQueue {
  readonly #labels: { readonly name: string; readonly controller: string };
  readonly #metrics: KubeMetrics;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: BackoffOptions;
  readonly #state: QueueState;
  readonly #failures = new Map<string, number>();
  /** Keys that wait for the server's `Retry-After`. */
  readonly #deferred = new Set<string>();
  readonly #leaveOutage: (() => void) | undefined;
  readonly #takers: Array<(taken: TakenKey | undefined) => void> = [];
  #cancelTimer: (() => void) | undefined;
  #closed = false;
  #drained: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#labels = { name: options.name, controller: options.name };
    this.#metrics = options.metrics;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#backoff = options.backoff ?? queueBackoffDefault;
    this.#state = new QueueState(options.keysMax ?? keysMaxDefault);
    this.#metrics.ages.add(this.#measureRunning);
    this.#leaveOutage = options.outage?.onEnd(() => this.#hasten());
  }

  /** Keys waiting for a worker. */
  get depth(): number {
    return this.#state.depth("edit") + this.#state.depth("resync");
  }

  /** Adds a key. Returns false when the queue is full or shutting down. */
  add(key: string, priority: Priority = "edit"): boolean {
    if (this.#closed) return false;
    const result = this.#state.add(key, priority, this.#clock.nowMs());
    if (result === "added") this.#metrics.queueAdds.inc(this.#labels);
    if (result === "full") this.#metrics.queueDropped.inc(this.#labels);
    this.#handOut();
    return result !== "full";
  }

  /** Adds a key after a delay. The earlier of two times counts. Returns false like {@link add}. */
  addAfter(key: string, delayMs: number, priority: Priority = "edit"): boolean {
    if (this.#closed) return false;
    if (delayMs <= 0) return this.add(key, priority);
    const accepted = this.#state.schedule(key, priority, this.#clock.nowMs() + delayMs);
    if (!accepted) this.#metrics.queueDropped.inc(this.#labels);
    this.#setTimer();
    return accepted;
  }

  /**
   * Adds a key again after a failure, with a growing wait.
   *
   * @param atLeastMs a lower bound, such as `Retry-After`
   * @returns the wait in milliseconds
   */
  retry(key: string, priority: Priority = "edit", atLeastMs = 0): number {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    if (atLeastMs > 0) this.#deferred.add(key);
    else this.#deferred.delete(key);
    const waitMs = Math.max(atLeastMs, backoffMs(failures, this.#backoff, this.#random));
    if (this.addAfter(key, waitMs, priority)) this.#metrics.queueRetries.inc(this.#labels);
    return waitMs;
  }

  /** Consecutive failures of a key. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Resets the failures of a key that succeeded or will not be retried. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#deferred.delete(key);
  }

  /**
   * Takes the next key, or undefined once the queue is shut down and empty. {@link done} must follow for every key.
   */
  async take(): Promise<TakenKey | undefined> {
    return await new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#handOut();
    });
  }

  /** Releases a key of its worker. A key that was added meanwhile is ready now. */
  done(key: string): void {
    const heldMs = this.#state.finish(key, this.#clock.nowMs());
    if (heldMs !== undefined) this.#metrics.workDuration.observe(this.#labels, heldMs / 1000);
    this.#handOut();
  }

  /**
   * Rejects new keys, removes scheduled keys and waits until workers have done the queued ones.
   *
   * @param drainMs bound on that wait; 0 leaves queued keys undone
   */
  async shutDown(drainMs: number): Promise<LeftOver> {
    this.#closed = true;
    this.#leaveOutage?.();
    this.#cancelTimer?.();
    this.#state.clearScheduled();
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(drainMs, resolve);
      this.#drained = () => {
        cancel();
        resolve();
      };
      this.#handOut();
    });
    const leftOver = { queued: this.#state.clearReady(), running: this.#state.runningCount };
    this.#handOut();
    this.#metrics.ages.delete(this.#measureRunning);
    return leftOver;
  }

  /** Makes the keys that failed in an outage due now and resets their failures. */
  #hasten(): void {
    const keys = [...this.#failures.keys()].filter((key) => !this.#deferred.has(key));
    for (const key of keys) this.#failures.delete(key);
    this.#state.hasten(keys, this.#clock.nowMs());
    this.#setTimer();
  }

  /** Gives ready keys to waiting workers, or undefined once the queue is closed and empty. */
  #handOut(): void {
    while (this.#takers.length > 0) {
      const taken = this.#state.next(this.#clock.nowMs());
      if (taken === undefined && !this.#closed) break;
      this.#measureTaken(taken);
      this.#takers.shift()?.(taken);
    }
    for (const priority of priorities)
      this.#metrics.queueDepth.set({ ...this.#labels, priority }, this.#state.depth(priority));
    if (this.#closed && this.depth === 0 && this.#state.runningCount === 0) this.#drained?.();
  }

  #measureTaken(taken: TakenKey | undefined): void {
    if (taken !== undefined) this.#metrics.queueDuration.observe(this.#labels, taken.queuedMs / 1000);
  }

  #setTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const dueMs = this.#state.nextDueMs();
    if (dueMs === undefined || this.#closed) return;
    this.#cancelTimer = this.#clock.after(dueMs - this.#clock.nowMs(), () => {
      this.#metrics.queueAdds.inc(this.#labels, this.#state.release(this.#clock.nowMs()));
      this.#setTimer();
      this.#handOut();
    });
  }

  readonly #measureRunning = (): void => {
    const nowMs = this.#clock.nowMs();
    const heldMs = [...this.#state.running()].map(([, sinceMs]) => nowMs - sinceMs);
    this.#metrics.unfinishedWork.set(this.#labels, heldMs.reduce((sum, ms) => sum + ms, 0) / 1000);
    this.#metrics.longestRunning.set(this.#labels, heldMs.reduce((most, ms) => Math.max(most, ms), 0) / 1000);
  };
}
