// Limits on time and memory for all programs: clocks, timers, token buckets, bounded maps, single-flight. They know no
// partner, no metric and no request.
/** The time for rates, breakers and pauses, as a parameter that tests advance. */
export interface Clock {
  /** Milliseconds of a monotonic clock; only differences have a meaning. */
  nowMs(): number;
  /** Calls back once after a delay in milliseconds. Returns the function that cancels the call. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after a delay in milliseconds. @throws the signal's reason as soon as the signal is aborted */
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
