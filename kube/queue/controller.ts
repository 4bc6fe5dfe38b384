// The work queue and the workers that reconcile its keys. It holds keys, never objects.
import type { Logger } from "pino";
import { type Clock, systemClock } from "../../limits/clock.ts";
import { describeError, isKubeError, retryAfterMsOf, capBytes, mask } from "../client/kube-error.ts";
import type { KubeMetrics } from "../metrics.ts";
import type { Priority, TakenKey } from "./queue-state.ts";
import { refOf } from "../client/resource.ts";
import type { LeftOver, WorkQueue } from "./work-queue.ts";

/** Result of a reconcile without a failure: done, or again after a time. */
export type ReconcileResult = { readonly kind: "done" } | Again;

interface Again {
  readonly kind: "again";
  readonly afterMs: number;
  readonly priority: Priority;
}

/** The object has its desired state. */
export const done: ReconcileResult = { kind: "done" };

/**
 * Requests another reconcile after a time, or earlier when the key is added.
 *
 * @param priority `resync` for a reconcile without an edit
 */
export function again(afterMs: number, priority: Priority = "edit"): ReconcileResult {
  return { kind: "again", afterMs, priority };
}

/**
 * Brings one object to its desired state. Level-based: it reads the current state, whatever caused the call. It may be
 * called at any time for any key, also after a deletion. A thrown error is retried, unless it is a {@link
 * TerminalError}.
 *
 * @param signal aborted when the controller must end at once, for example at the end of a term
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult>;

/** A failure that only an edit can repair; a retry cannot. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

interface ControllerOptions {
  /** Label of its metrics and logs, for example `webhookpartner`. */
  readonly name: string;
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  /** Keys reconciled at once. @default 16 */
  readonly workers?: number;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  /** @default the machine's */
  readonly clock?: Clock;
}

/** Outcome of a reconcile; the log and the metric's `result` use the same word. */
type Outcome =
  | { readonly result: "success" }
  | { readonly result: "requeue_after"; readonly again: Again }
  | { readonly result: "error"; readonly error: unknown; readonly atLeastMs: number }
  | { readonly result: "terminal"; readonly error: unknown };

/** Each status write is one call, so its round trip dominates with many objects. */
const workersDefault = 16;
const stackBytesMax = 4_096;

/** Workers that take keys from a queue and reconcile them, one at a time per key. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #clock: Clock;
  readonly #aborting = new AbortController();
  #workers: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Starts the workers. Must be called once. */
  start(): void {
    const { name, metrics, workers = workersDefault } = this.#options;
    if (this.#workers !== undefined) throw new Error(`controller ${name} was started before`);
    metrics.workersMax.set({ controller: name }, workers);
    metrics.activeWorkers.set({ controller: name }, 0);
    this.#workers = Promise.all(Array.from({ length: workers }, () => this.#work())).then(() => undefined);
  }

  /**
   * Shuts the queue down and resolves when no reconcile runs any more.
   *
   * @param drainMs time for queued keys; then running reconciles are aborted. 0 aborts at once.
   */
  async stop(drainMs: number): Promise<LeftOver> {
    const leftOver = await this.#options.queue.shutDown(drainMs);
    this.#aborting.abort();
    await this.#workers;
    return leftOver;
  }

  async #work(): Promise<void> {
    const { name, queue, metrics } = this.#options;
    for (let taken = await queue.take(); taken !== undefined; taken = await queue.take()) {
      metrics.activeWorkers.inc({ controller: name });
      await this.#reconcile(taken);
      metrics.activeWorkers.dec({ controller: name });
      queue.done(taken.key);
    }
  }

  async #reconcile(taken: TakenKey): Promise<void> {
    const startedMs = this.#clock.nowMs();
    const outcome = await this.#attempt(taken.key);
    const durationMs = this.#clock.nowMs() - startedMs;
    const retry = this.#options.queue.failures(taken.key);
    const afterMs = this.#settle(taken, outcome);
    this.#measure(outcome, durationMs);
    this.#report(taken, outcome, { durationMs, retry, afterMs });
  }

  async #attempt(key: string): Promise<Outcome> {
    try {
      const result = await this.#options.reconcile(key, this.#aborting.signal);
      return result.kind === "done" ? { result: "success" } : { result: "requeue_after", again: result };
    } catch (error) {
      if (error instanceof TerminalError) return { result: "terminal", error };
      return { result: "error", error, atLeastMs: retryAfterMsOf(error) };
    }
  }

  /** Applies the outcome to the queue. Returns the wait until the key's next reconcile. */
  #settle({ key, priority }: TakenKey, outcome: Outcome): number | undefined {
    const { queue } = this.#options;
    if (outcome.result === "error") return queue.retry(key, priority, outcome.atLeastMs);
    queue.forget(key);
    if (outcome.result !== "requeue_after") return undefined;
    queue.addAfter(key, outcome.again.afterMs, outcome.again.priority);
    return outcome.again.afterMs;
  }

  #measure({ result }: Outcome, durationMs: number): void {
    const { metrics, name: controller } = this.#options;
    metrics.reconciles.inc({ controller, result });
    metrics.reconcileTime.observe({ controller }, durationMs / 1000);
    if (result === "error" || result === "terminal") metrics.reconcileErrors.inc({ controller });
    if (result === "terminal") metrics.terminalErrors.inc({ controller });
  }

  /** Writes the one log line of this reconcile. */
  #report(
    taken: TakenKey,
    outcome: Outcome,
    numbers: { durationMs: number; retry: number; afterMs: number | undefined },
  ): void {
    const { log, name: controller } = this.#options;
    const { key, priority, queuedMs } = taken;
    const line = { controller, ...refOf(key), result: outcome.result, priority, queuedMs, ...numbers };
    if (!("error" in outcome)) {
      log.info(line, "reconciled");
      return;
    }
    const failed = { ...line, error: describeError(outcome.error), ...stackOf(outcome.error) };
    // Another writer was faster, or the server was busy: no fault yet.
    if (isKubeError(outcome.error, "conflict", "transient", "aborted"))
      log.info(failed, "reconcile interrupted, retry scheduled");
    else log.error(failed, "reconcile failed");
  }
}

/** The stack of unexpected errors. Failed calls and terminal errors have all details in their message. */
function stackOf(error: unknown): { readonly stack?: string } {
  if (!(error instanceof Error) || error.stack === undefined || isKubeError(error) || error instanceof TerminalError)
    return {};
  return { stack: capBytes(mask(error.stack), stackBytesMax) };
}
