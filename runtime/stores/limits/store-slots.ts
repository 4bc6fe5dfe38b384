import { StoreError } from "../store-error.ts";

/** Most requests that wait for one store. */
const waitingMax = 20_000;

/** Places for the requests to one store. */
export interface StoreSlots {
  /**
   * Waits for a place. API requests take turns, so that one with many reads does not hold up the others.
   *
   * @param turn of the API request; reads with the same turn keep their order
   * @returns the function that releases the place
   * @throws the signal's reason if it is aborted first; StoreError `late` if too many requests wait
   */
  enter(signal: AbortSignal, turn: string): Promise<() => void>;
}

/** Creates places that are all free. */
export function createStoreSlots(size: number): StoreSlots {
  const waiting = new Map<string, Set<() => void>>();
  let [taken, waitingCount] = [0, 0];

  const remove = (turn: string, enter: () => void): void => {
    const own = waiting.get(turn);
    if (own?.delete(enter) === true) waitingCount -= 1;
    if (own?.size === 0) waiting.delete(turn);
  };
  const leave = (): void => {
    const [next] = waiting;
    const [enter] = next?.[1] ?? [];
    if (next === undefined || enter === undefined) {
      taken -= 1;
      return;
    }
    const [turn, own] = next;
    remove(turn, enter);
    // The turn goes behind all others.
    if (waiting.delete(turn)) waiting.set(turn, own);
    // The place passes on, so that no later request takes it.
    enter();
  };

  return {
    async enter(signal, turn) {
      signal.throwIfAborted();
      if (taken < size) {
        taken += 1;
        return once(leave);
      }
      if (waitingCount >= waitingMax) throw new StoreError("late", `more than ${waitingMax} requests wait`);
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      const enter = (): void => resolve(undefined);
      const abort = (): void => {
        remove(turn, enter);
        reject(signal.reason as Error);
      };
      const own = waiting.get(turn) ?? new Set();
      waiting.set(turn, own.add(enter));
      waitingCount += 1;
      signal.addEventListener("abort", abort, { once: true });
      try {
        await promise;
      } finally {
        signal.removeEventListener("abort", abort);
      }
      return once(leave);
    },
  };
}

function once(leave: () => void): () => void {
  let hasLeft = false;
  return () => {
    if (hasLeft) return;
    hasLeft = true;
    leave();
  };
}
