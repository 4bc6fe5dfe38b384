import { setTimeout as wait } from "node:timers/promises";
import type { RetryBudget } from "./retry-budget.ts";
import { StoreError } from "./store-error.ts";
import type { Post } from "./store-http.ts";

/** Wait before the one retry: long enough for a connection to be replaced, short beside any deadline. */
const waitMsMin = 20;
const waitMsMax = 60;

export interface RetryOptions {
  readonly budget: RetryBudget;
  /** In [0, 1). @default Math.random */
  readonly random?: () => number;
}

/**
 * Sends once more what failed in passing, as long as the budget lasts: reads change nothing, so that one too many is only
 * load. What took too long is not asked again.
 */
export function retryingPost(post: Post, { budget, random = Math.random }: RetryOptions): Post {
  return async (path, form, call, grid) => {
    budget.earn();
    try {
      return await post(path, form, call, grid);
    } catch (error) {
      call.signal.throwIfAborted();
      const mayRetry = error instanceof StoreError && error.isPassing && budget.spend();
      if (!mayRetry) throw error;
    }
    await waitUnlessAborted(waitMsMin + random() * (waitMsMax - waitMsMin), call.signal);
    return post(path, form, call, grid);
  };
}

async function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
