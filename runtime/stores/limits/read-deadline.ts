import { StoreError } from "../store-error.ts";

/** A bound on several reads together. */
export interface Lateness {
  /** Aborts as `late` when the time is over, and when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Whole milliseconds that are left; 0 when the time is over. */
  leftMs(): number;
  /** Nobody waits any more: what still runs is cancelled. */
  end(): void;
}

/** Begins to count. */
export function lateAfter(deadlineMs: number): Lateness {
  const endsAtMs = performance.now() + deadlineMs;
  const controller = new AbortController();
  const abort = (): void => controller.abort(new StoreError("late", `no answer in ${deadlineMs} ms`));
  const timer = setTimeout(abort, deadlineMs);
  return {
    signal: controller.signal,
    leftMs: () => Math.max(0, Math.ceil(endsAtMs - performance.now())),
    end() {
      clearTimeout(timer);
      abort();
    },
  };
}
