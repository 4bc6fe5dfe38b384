/** Consecutive failures that open the breaker. */
const failuresMax = 5;
const openMsMin = 1_000;
const openMsMax = 30_000;

/**
 * Stops requests to a store that fails repeatedly. A query then does not wait for its deadline:
 *
 *     closed ── consecutive failures ──► open ── time passed ──► on trial (one request)
 *        ▲                                ▲                         │        │
 *        │                                └── failed: twice as long ┘        │
 *        └──────────────────────────── succeeded ───────────────────────────┘
 */
export interface Breaker {
  /** Admits one request and returns the function that takes its outcome; undefined while the breaker is open. */
  admit(): Settle | undefined;
  /** Milliseconds until the next trial; 0 while one runs, and while closed. */
  restMs(): number;
}

/** `neutral`: the outcome does not concern the health of the store, for example when the caller aborted. */
export type Settle = (outcome: "ok" | "failed" | "neutral") => void;

/** Creates a closed breaker. @param now milliseconds of a monotonic clock */
export function createBreaker(now: () => number): Breaker {
  let failures = 0;
  let openMs = openMsMin;
  /** Undefined while closed. */
  let openUntilMs: number | undefined;
  let onTrial = false;

  const open = (): void => {
    openUntilMs = now() + openMs;
    openMs = Math.min(openMs * 2, openMsMax);
  };
  const settle = (outcome: Parameters<Settle>[0], isTrial: boolean): void => {
    if (isTrial) onTrial = false;
    if (outcome === "ok") [failures, openMs, openUntilMs] = [0, openMsMin, undefined];
    if (outcome !== "failed") return;
    failures += 1;
    if (isTrial || (openUntilMs === undefined && failures >= failuresMax)) open();
  };

  return {
    restMs: () => (openUntilMs === undefined ? 0 : Math.max(0, openUntilMs - now())),
    admit() {
      const isTrial = openUntilMs !== undefined;
      if (openUntilMs !== undefined && (onTrial || now() < openUntilMs)) return undefined;
      onTrial = isTrial;
      return (outcome) => settle(outcome, isTrial);
    },
  };
}
