import { runBounded } from "./run-bounded.ts";
import { StoreError } from "../store-error.ts";

/** How one of several requests to stores ended. */
export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: StoreError };

export interface FanOutOptions {
  /** Bound on the whole, in milliseconds; what is not there by then is `late`. */
  readonly deadlineMs: number;
  /** The caller's own signal. */
  readonly signal: AbortSignal;
}

/** Jobs of one query that run at once; the others wait inside the same deadline. */
const jobsMax = 32;

/**
 * Runs jobs under one deadline and answers how each ended, in the jobs' order. What still runs at the deadline, or when
 * the caller leaves, is cancelled.
 *
 * @throws the signal's reason when the caller leaves first; any error of a job that is no `StoreError`
 */
export async function fanOut<Job, Value>(
  jobs: readonly Job[],
  run: (job: Job, signal: AbortSignal) => Promise<Value>,
  { deadlineMs, signal }: FanOutOptions,
): Promise<readonly Outcome<Value>[]> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stop = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(controller.signal.reason as Error), { once: true });
  });
  // Nobody may be racing against it any more when it is rejected.
  stop.catch(() => undefined);
  const timer = setTimeout(() => controller.abort(new StoreError("late", `no answer in ${deadlineMs} ms`)), deadlineMs);
  const leave = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await runBounded(jobs, jobsMax, (job) => settle(Promise.race([run(job, controller.signal), stop])));
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}

async function settle<Value>(running: Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { ok: true, value: await running };
  } catch (error) {
    if (error instanceof StoreError) return { ok: false, error };
    throw error;
  }
}
