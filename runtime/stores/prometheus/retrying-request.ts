import { setTimeout as wait } from "node:timers/promises";
import type { RetryBudget } from "../limits/retry-budget.ts";
import { StoreError } from "../store-error.ts";

/** Wait before the one retry: long enough to replace a connection, short compared with any deadline. */
const waitMsMin = 20;
const waitMsMax = 60;

/**
 * Runs a read, and runs it once more after a transient failure while the budget has a retry. Reads change nothing, so
 * that a repeated one costs load only. A read that was late is not repeated.
 */
export async function retried<Result>(
  read: () => Promise<Result>,
  signal: AbortSignal,
  budget: RetryBudget,
): Promise<Result> {
  budget.earn();
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    const mayRetry = error instanceof StoreError && error.isPassing && budget.spend();
    if (!mayRetry) throw error;
  }
  await waitUnlessAborted(waitMsMin + Math.random() * (waitMsMax - waitMsMin), signal);
  return read();
}

async function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
