/** Reads that nobody waits for: what was served although its lifetime was just over is read again. */
export interface BackgroundRefreshes {
  /**
   * Begins work unless work of this name, or as much as may run at once, is under way. What becomes of it is told to
   * nobody who asked.
   *
   * @returns whether this call began it
   */
  begin(name: string, work: (signal: AbortSignal) => Promise<unknown>): boolean;
  /** Ends what is under way; nothing begins any more. */
  stop(): void;
}

interface RefreshOptions {
  /** Bound on each, in milliseconds. @default 1800 */
  readonly deadlineMs?: number;
  /** Told when one has ended before the stop, with what it failed with. @default nobody */
  readonly ended?: (failure: unknown) => void;
}

/** Renewals at once: few, since requests that somebody waits for need the same connections. */
export const refreshesMax = 8;
const deadlineMsDefault = 1_800;

/** None under way. */
export function createBackgroundRefreshes({
  deadlineMs = deadlineMsDefault,
  ended = () => undefined,
}: RefreshOptions = {}): BackgroundRefreshes {
  const underWay = new Set<string>();
  const stopping = new AbortController();
  return {
    begin(name, work) {
      if (stopping.signal.aborted || underWay.size >= refreshesMax || underWay.has(name)) return false;
      underWay.add(name);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new Error(`not renewed in ${deadlineMs} ms`)), deadlineMs);
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
