import { setTimeout as sleep } from "node:timers/promises";

/** How long a wait may take and what it waits for, as it should read in the error. */
interface WaitOptions {
  readonly timeoutMs: number;
  readonly what: string;
  /** Pause between two looks. @default 25 */
  readonly pollMs?: number;
}

const pollMsDefault = 25;

/**
 * Looks at a condition until it is truthy and answers its value. A look that throws counts as "not yet"; the last such
 * error is the cause of the one thrown at the deadline.
 *
 * @throws Error that names `what` when `timeoutMs` pass first
 */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitOptions): Promise<NonNullable<T>> {
  const deadlineMs = performance.now() + options.timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadlineMs) {
      const detail = cause instanceof Error ? `: ${cause.message}` : "";
      throw new Error(`waited ${options.timeoutMs} ms in vain for ${options.what}${detail}`, { cause });
    }
    await sleep(options.pollMs ?? pollMsDefault);
  }
}

/**
 * What a busy machine may add to any time, in milliseconds: one with two cores stops a process for seconds now and
 * then.
 */
export const stallMsMax = 10_000;

const triesMax = 5;

/**
 * The time of the quickest of a few tries in milliseconds: what the product takes, without what else the machine does
 * now and then. The first try below the bound is the last one.
 *
 * @param timed - what is timed; it may return the time of a part of itself
 */
export async function quickestMs(boundMs: number, timed: (index: number) => Promise<number | void>): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let index = 0; index < triesMax && bestMs >= boundMs; index += 1) {
    const startedMs = performance.now();
    const partMs = await timed(index);
    bestMs = Math.min(bestMs, partMs ?? performance.now() - startedMs);
  }
  return bestMs;
}
