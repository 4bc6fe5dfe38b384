// The Kubernetes core of the operator and the runtime. It knows no resource of Heliograph.
/** The clock of this folder. Each part that waits or computes an age takes one as a parameter. */
export interface Clock {
  /** Milliseconds of a clock that never jumps; only differences mean something. */
  nowMs(): number;
  /** Unix milliseconds; for displayed times, never for a decision. */
  wallMs(): number;
  /** Calls back once when the delay is over. Returns a function that cancels the call. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Longest delay of a platform timer. A longer delay would fire at once. */
const timerMsMax = 2_147_483_647;

/** The clock of the machine. */
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
