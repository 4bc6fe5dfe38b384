// Limits on time and memory for all programs: clocks, timers, token buckets, bounded maps, single-flight. They know no
// partner, no metric and no request.

/** Time as a parameter, which tests advance. Each part that waits or computes an age takes one. */
export interface Clock {
  /** Milliseconds of a monotonic clock; only differences have a meaning. */
  nowMs(): number;
  /** Unix milliseconds; for displayed times, never for a decision. */
  wallMs(): number;
  /** Calls back once after a delay in milliseconds. Returns the function that cancels the call. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Longest time between two looks at a clock that counts as a time in which this process ran. */
const turnMsMax = 250;
const lookMs = 100;

/** A clock that stands still while this process does: it was stopped, or the machine had no time for it. */
export type RunningClock = ReturnType<typeof createRunningClock>;

/** Creates a clock that does not run. @param now milliseconds of a monotonic clock. @default performance.now */
export function createRunningClock(now: () => number = () => performance.now()) {
  let [ranMs, seenAtMs, users] = [0, now(), 0];
  let looks: NodeJS.Timeout | undefined;
  const nowMs = (): number => {
    const atMs = now();
    ranMs += Math.min(atMs - seenAtMs, turnMsMax);
    seenAtMs = atMs;
    return ranMs;
  };
  return {
    /**
     * Milliseconds in which this process ran; only differences within one {@link RunningClock.start} have a meaning.
     */
    nowMs,
    /** Runs the clock. Returns the function that ends this. */
    start() {
      users += 1;
      looks ??= setInterval(nowMs, lookMs).unref();
      let hasEnded = false;
      return () => {
        if (hasEnded) return;
        hasEnded = true;
        users -= 1;
        if (users > 0) return;
        clearInterval(looks);
        looks = undefined;
      };
    },
  };
}

/** Longest delay of a platform timer. A longer delay would fire at once. */
const timerMsMax = 2_147_483_647;

/** The clock of the machine. Its timers keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (delayMs, callback) => {
    const timer = startTimer(delayMs, callback);
    return () => clearTimeout(timer);
  },
};

/** The clock of the machine. Its timers do not keep the process alive. */
export const backgroundClock: Clock = {
  ...systemClock,
  after: (delayMs, callback) => {
    const timer = startTimer(delayMs, callback).unref();
    return () => clearTimeout(timer);
  },
};

function startTimer(delayMs: number, callback: () => void): NodeJS.Timeout {
  return setTimeout(callback, Math.min(Math.max(delayMs, 0), timerMsMax));
}

/** Calls back when the signal is aborted, at once if it already is. Returns the function that removes the callback. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted === true) callback();
  else signal?.addEventListener("abort", callback, { once: true });
  return () => signal?.removeEventListener("abort", callback);
}

/**
 * The result, unless the signal is aborted first. The work that produces the result continues.
 * @throws the signal's reason
 */
export async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const forget = onAbort(signal, () => aborted.reject(signal.reason));
  try {
    return await Promise.race([result, aborted.promise]);
  } finally {
    forget();
  }
}

/**
 * The result, unless the time limit passes first. The work that produces it continues, and its error is ignored.
 * @throws the error that `late` returns
 */
export async function withinTime<T>(result: Promise<T>, limitMs: number, late: () => Error): Promise<T> {
  const passed = Promise.withResolvers<never>();
  const timer = setTimeout(() => passed.reject(late()), limitMs);
  try {
    return await Promise.race([result, passed.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits in a queue until its entry is called. An aborted entry leaves the queue at once, so that no place passes to it.
 * @throws the signal's reason if it is aborted first
 */
export async function waitInQueue(
  queue: { add(enter: () => void): unknown; delete(enter: () => void): unknown },
  signal?: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  queue.add(resolve);
  const forget = onAbort(signal, () => {
    queue.delete(resolve);
    reject(signal?.reason as Error);
  });
  try {
    await promise;
  } finally {
    forget();
  }
}

/** Resolves after a delay in milliseconds. @throws the signal's reason as soon as the signal is aborted */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.after(delayMs, resolve);
  const forget = onAbort(signal, () => {
    cancel();
    reject(signal?.reason as Error);
  });
  return promise.finally(forget);
}

/** Resolves when the delay is over or the signal is aborted, whichever comes first. Never rejects. */
export async function pauseUntilAborted(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (delayMs > 0) await pause(clock, delayMs, signal).catch(() => undefined);
}

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

/** Runs long work in short slices, so that other requests of the process do not wait for it. */
export interface TimeSlices {
  /** Collects all items. It yields to the event loop at the end of each slice. */
  collect<Item>(items: Iterable<Item>): Promise<readonly Item[]>;
}

/** Length of a slice, in milliseconds. */
export const sliceMs = 1;

/**
 * Creates time slices. One slice of all collections runs in each round of the event loop. Other work thus waits for one
 * slice only, whatever the number of collections.
 *
 * @param now milliseconds. @default performance.now
 */
export function createTimeSlices(now: () => number = () => performance.now()): TimeSlices {
  const waiting: (() => void)[] = [];
  const resumeOne = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(resumeOne);
  };
  const nextSlice = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(resumeOne);
    });
  return {
    async collect<Item>(items: Iterable<Item>) {
      const all: Item[] = [];
      let startedMs = now();
      for (const item of items) {
        all.push(item);
        if (now() - startedMs < sliceMs) continue;
        await nextSlice();
        startedMs = now();
      }
      return all;
    },
  };
}
