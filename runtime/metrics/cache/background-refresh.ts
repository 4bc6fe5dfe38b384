/** Reads stale points again in the background, after they were served. Source: RFC 5861. */
export interface BackgroundRefreshes {
  /**
   * Starts a refresh, unless one of this name or {@link refreshesMax} of this store are in progress.
   *
   * @returns true when this call started it
   */
  begin(name: string, store: string, work: (signal: AbortSignal) => Promise<unknown>): boolean;
  /** Aborts the refreshes in progress; none starts afterwards. */
  stop(): void;
}

interface RefreshOptions {
  /** Bound on each refresh, in milliseconds. @default 1800 */
  readonly deadlineMs?: number;
  /** Called when a refresh ends before the stop; undefined for a success. @default ignored */
  readonly ended?: (failure: unknown) => void;
}

/** Most concurrent refreshes of one store. Few, since waiting requests need the same connections. */
export const refreshesMax = 8;
const deadlineMsDefault = 1_800;

/** Creates refreshes without one in progress. */
export function createBackgroundRefreshes({
  deadlineMs = deadlineMsDefault,
  ended = () => undefined,
}: RefreshOptions = {}): BackgroundRefreshes {
  /** The store of each refresh. */
  const underWay = new Map<string, string>();
  const countOf = (store: string): number => [...underWay.values()].filter((one) => one === store).length;
  const stopping = new AbortController();
  return {
    begin(name, store, work) {
      if (stopping.signal.aborted || underWay.has(name) || countOf(store) >= refreshesMax) return false;
      underWay.set(name, store);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new Error(`not refreshed in ${deadlineMs} ms`)), deadlineMs);
      timer.unref();
      const end = (failure: unknown): void => {
        clearTimeout(timer);
        underWay.delete(name);
        if (!stopping.signal.aborted) ended(failure);
      };
      work(AbortSignal.any([late.signal, stopping.signal])).then(() => end(undefined), end);
      return true;
    },
    stop: () => stopping.abort(new Error("the program stops")),
  };
}
