/** The requests to one store that have no response yet, and those that never got one. */
export interface StoreSilence {
  /** Notes a request. Returns the function that notes its end. */
  begin(): (hasResponded: boolean) => void;
  /**
   * Tests if a request had its full time since `sinceMs` without any response of the store. A request with less time,
   * and one that waited while others got responses, say nothing about the health of the store.
   */
  wasSilentSince(sinceMs: number): boolean;
}

interface OpenRequest {
  readonly sentAtMs: number;
}

/**
 * Creates a record without requests.
 *
 * @param fullMs time after which a response is missing
 * @param now milliseconds of a monotonic clock
 */
export function createStoreSilence(fullMs: number, now: () => number): StoreSilence {
  // In the order in which they were sent.
  const open = new Set<OpenRequest>();
  let [respondedAtMs, silentAtMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const isSilent = ({ sentAtMs }: OpenRequest): boolean => now() - Math.max(sentAtMs, respondedAtMs) >= fullMs;
  return {
    begin() {
      const request = { sentAtMs: now() };
      open.add(request);
      return (hasResponded) => {
        open.delete(request);
        if (hasResponded) respondedAtMs = now();
        else if (isSilent(request)) silentAtMs = now();
      };
    },
    wasSilentSince(sinceMs) {
      const [oldest] = open;
      return silentAtMs >= sinceMs || (oldest !== undefined && isSilent(oldest));
    },
  };
}
