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
