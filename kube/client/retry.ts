import { type BackoffOptions, backoffMs } from "../backoff.ts";
import { isKubeError } from "./kube-error.ts";

/** Number and times of the tries of one call. */
export interface RetryPolicy {
  /** Number of tries, the first included. @default 5 */
  readonly triesMax: number;
  /** Bound on one try, in milliseconds. @default 10 s */
  readonly tryTimeoutMs: number;
  /** No try starts later than this after the first, in milliseconds. @default 30 s */
  readonly budgetMs: number;
  readonly backoff: BackoffOptions;
}

/** The policy of calls without their own. */
export const retryPolicyDefault: RetryPolicy = {
  triesMax: 5,
  tryTimeoutMs: 10_000,
  budgetMs: 30_000,
  backoff: { baseMs: 100, maxMs: 5_000, jitter: 0.3 },
};

/** One try, for callers that retry by themselves. */
export function singleTry(tryTimeoutMs: number): RetryPolicy {
  return { ...retryPolicyDefault, triesMax: 1, tryTimeoutMs, budgetMs: tryTimeoutMs };
}

/** The tries of one call so far. */
interface TriedCall {
  /** True when a repetition has the same effect as one call. */
  readonly repeatable: boolean;
  readonly tries: number;
  readonly elapsedMs: number;
}

/**
 * Returns the wait before the next try, or undefined when there is none. After a 429 the server did nothing, so every
 * call may be repeated; after another failure only a repeatable one. The server's `Retry-After` is a lower bound. When
 * it exceeds the budget, the caller gets the error and can wait longer.
 */
export function retryWaitMs(
  error: unknown,
  call: TriedCall,
  policy: RetryPolicy,
  random: () => number,
): number | undefined {
  if (!isKubeError(error, "transient") || call.tries >= policy.triesMax) return undefined;
  if (!call.repeatable && error.status !== 429) return undefined;
  const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs(call.tries, policy.backoff, random));
  return call.elapsedMs + waitMs > policy.budgetMs ? undefined : waitMs;
}
