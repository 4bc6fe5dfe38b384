/**
 * Milliseconds until the next turn of everything in this process that is looked at with this period, or with one that
 * divides it: turns are at multiples of the period on the monotonic clock, so that many looks wake an idle process
 * once. At least half a period away, at most one and a half.
 */
export function msToNextRun(periodMs: number, nowMs: number): number {
  return Math.ceil(nowMs / periodMs + 0.5) * periodMs - nowMs;
}

/** Looks in turns, each after the one before has ended; the answer ends that. Without an answer nothing changes. */
export function runPeriodically(periodMs: number, look: () => Promise<void>): () => void {
  let isOver = false;
  let timer: NodeJS.Timeout;
  const goOn = (): void => {
    timer = setTimeout(
      () => {
        look()
          .catch(() => undefined)
          .finally(() => !isOver && goOn());
      },
      msToNextRun(periodMs, performance.now()),
    );
    timer.unref();
  };
  goOn();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
