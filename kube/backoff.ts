/** How waits grow from failure to failure. */
export interface BackoffOptions {
  /** Wait after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** No wait is longer, in milliseconds. */
  readonly maxMs: number;
  /** Share of a wait that is left to chance, 0 to 1: it spreads what failed together. */
  readonly jitter: number;
}

/** Exponents beyond this exceed every bound anyway, and would end in Infinity. */
const exponentMax = 40;

/**
 * The wait after a number of failures in a row: doubled each time, bounded, shortened by up to the jitter.
 *
 * @param failures 1 after the first failure
 * @param random gives numbers of [0, 1)
 */
export function backoffMs(failures: number, options: BackoffOptions, random: () => number): number {
  const exponent = Math.min(Math.max(failures - 1, 0), exponentMax);
  const fullMs = Math.min(options.maxMs, options.baseMs * 2 ** exponent);
  return fullMs * (1 - options.jitter * random());
}
