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
