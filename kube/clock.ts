/** Time as this folder sees it: everything that waits or judges an age takes one, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds of a clock that never jumps; only differences mean something. */
  nowMs(): number;
  /** Unix milliseconds; for what others are shown, never for a decision. */
  wallMs(): number;
  /** Calls back once when the delay is over. Returns what takes the call back. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Longest delay that a timer of the platform holds; a longer one would fire at once. */
const timerMsMax = 2_147_483_647;

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), timerMsMax));
    return () => clearTimeout(timer);
  },
};

/** Resolves when the delay is over or the signal is aborted, whichever comes first; never rejects. */
export async function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (delayMs <= 0 || signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal?.addEventListener("abort", end, { once: true });
  });
}
