import { setTimeout as wait } from "node:timers/promises";
import type { RetryBudget } from "../limits/retry-budget.ts";
import { StoreError } from "../store-error.ts";
import type { Post } from "./store-http.ts";

/** Wait before the one retry: long enough for a connection to be replaced, short beside any deadline. */
const waitMsMin = 20;
const waitMsMax = 60;

interface RetryOptions {
  readonly budget: RetryBudget;
  /** In [0, 1). @default Math.random */
  readonly random?: () => number;
}

/**
 * Sends once more what failed in passing, as long as the budget lasts: reads change nothing, so that one too many is
 * only load. What took too long is not asked again.
 */
export function retryingPost(post: Post, options: RetryOptions): Post {
  return (path, form, call, grid) => retried(() => post(path, form, call, grid), call.signal, options);
}

/** Runs a read, and once more as {@link retryingPost} does. */
export async function retried<Result>(
  read: () => Promise<Result>,
  signal: AbortSignal,
  { budget, random = Math.random }: RetryOptions,
): Promise<Result> {
  budget.earn();
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    const mayRetry = error instanceof StoreError && error.isPassing && budget.spend();
    if (!mayRetry) throw error;
  }
  await waitUnlessAborted(waitMsMin + random() * (waitMsMax - waitMsMin), signal);
  return read();
}

async function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
