// The Kubernetes core of the operator and the runtime. It knows no resource of Heliograph.
/** Growth of the waits between retries. */
export interface BackoffOptions {
  /** Wait after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** No wait is longer, in milliseconds. */
  readonly maxMs: number;
  /** Share of a wait that is random, 0 to 1. It spreads the retries of calls that failed together. */
  readonly jitter: number;
}

/** A larger exponent exceeds every bound and would overflow to Infinity. */
const exponentMax = 40;

/**
 * Returns the wait after a number of consecutive failures: doubled each time, bounded, shortened by up to the jitter.
 *
 * @param failures 1 after the first failure
 * @param random returns numbers of [0, 1)
 */
export function backoffMs(failures: number, options: BackoffOptions, random: () => number): number {
  const exponent = Math.min(Math.max(failures - 1, 0), exponentMax);
  const fullMs = Math.min(options.maxMs, options.baseMs * 2 ** exponent);
  return fullMs * (1 - options.jitter * random());
}
