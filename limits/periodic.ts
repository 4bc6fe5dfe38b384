/**
 * Milliseconds until the next run of a period: at least half of it, at most one and a half. Runs are at multiples of
 * the period on the monotonic clock. All timers of one period then wake an idle process once.
 */
export function msToNextRun(periodMs: number, nowMs: number): number {
  return Math.ceil(nowMs / periodMs + 0.5) * periodMs - nowMs;
}

/** Runs a task once per period, never concurrently with itself. A failed run is ignored. Returns the stop function. */
export function runPeriodically(periodMs: number, task: () => Promise<void>): () => void {
  let isStopped = false;
  let timer: NodeJS.Timeout;
  const schedule = (): void => {
    timer = setTimeout(
      () => {
        task()
          .catch(() => undefined)
          .finally(() => !isStopped && schedule());
      },
      msToNextRun(periodMs, performance.now()),
    );
    timer.unref();
  };
  schedule();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
