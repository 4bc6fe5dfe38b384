import { StoreError } from "../store-error.ts";

/** One deadline for several reads together. */
export interface ReadDeadline {
  /** Aborts as `late` at the deadline, and at the end. */
  readonly signal: AbortSignal;
  /** Whole milliseconds until the deadline; 0 after it. */
  leftMs(): number;
  /** Ends the reads: it cancels those that still run. */
  end(): void;
}

/** Starts a deadline. */
export function startReadDeadline(deadlineMs: number): ReadDeadline {
  const endsAtMs = performance.now() + deadlineMs;
  const controller = new AbortController();
  const abort = (): void => controller.abort(new StoreError("late", `no response in ${deadlineMs} ms`));
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
