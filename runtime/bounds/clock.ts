/** Time as rates, breakers, places and pauses see it: they take one, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds of a clock that never jumps; only differences mean something. */
  nowMs(): number;
  /** Calls back once when the delay is over, in milliseconds. Returns what takes the call back. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The machine's own clock. What waits on it does not keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves when the delay is over, in milliseconds. @throws the signal's reason as soon as that is aborted */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.after(delayMs, resolve);
  const abort = (): void => {
    cancel();
    reject(signal?.reason as Error);
  };
  signal?.addEventListener("abort", abort, { once: true });
  return promise.finally(() => signal?.removeEventListener("abort", abort));
}
