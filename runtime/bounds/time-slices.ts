/** Long work in short turns, so that what is short waits for none of it. */
export interface TimeSlices {
  /** All of what is made one after another, with room for others whenever a turn has lasted long enough. */
  collect<Item>(items: Iterable<Item>): Promise<readonly Item[]>;
}

/** A turn of work, in milliseconds. */
export const sliceMs = 1;

/**
 * Nothing under way. Between two turns the event loop goes round, and in each round only one of those who have more to
 * do goes on: however many they are, others wait for a single turn.
 *
 * @param now milliseconds. @default performance.now
 */
export function createTimeSlices(now: () => number = () => performance.now()): TimeSlices {
  const waiting: (() => void)[] = [];
  const goOn = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(goOn);
  };
  const nextSlice = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(goOn);
    });
  return {
    async collect<Item>(items: Iterable<Item>) {
      const all: Item[] = [];
      let begunMs = now();
      for (const item of items) {
        all.push(item);
        if (now() - begunMs < sliceMs) continue;
        await nextSlice();
        begunMs = now();
      }
      return all;
    },
  };
}
