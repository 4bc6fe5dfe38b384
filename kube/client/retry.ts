import { type BackoffOptions, backoffMs } from "../backoff.ts";
import { isKubeError } from "./kube-error.ts";

/** How often and how long one call is tried. */
export interface RetryPolicy {
  /** Tries in all, the first one included. @default 5 */
  readonly triesMax: number;
  /** Bound on one try, in milliseconds. @default 10 s */
  readonly tryTimeoutMs: number;
  /** No try starts later than this after the first, in milliseconds. @default 30 s */
  readonly budgetMs: number;
  readonly backoff: BackoffOptions;
}

/** The policy of calls that state none. */
export const retryPolicyDefault: RetryPolicy = {
  triesMax: 5,
  tryTimeoutMs: 10_000,
  budgetMs: 30_000,
  backoff: { baseMs: 100, maxMs: 5_000, jitter: 0.3 },
};

/** One try and no more, for callers that have a rhythm of their own. */
export function singleTry(tryTimeoutMs: number): RetryPolicy {
  return { ...retryPolicyDefault, triesMax: 1, tryTimeoutMs, budgetMs: tryTimeoutMs };
}

/** What happened so far to one call. */
interface TriedCall {
  /** Whether doing it twice is the same as doing it once. */
  readonly repeatable: boolean;
  readonly tries: number;
  readonly elapsedMs: number;
}

/**
 * The wait before the next try, or undefined when there is none. 429 says that nothing was done, so every call may be
 * repeated; after any other failure only one that does no harm twice. The server's `Retry-After` is a lower bound and
 * is never shortened: where it does not fit the budget, the error goes to the caller, who can wait longer than a call
 * can.
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
