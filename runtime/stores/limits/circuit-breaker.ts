/** Failures in a row after which a store is left alone. */
const failuresMax = 5;
const restMsMin = 1_000;
const restMsMax = 30_000;

/**
 * Keeps requests from a store that only fails, so that a dead region costs nobody its deadline:
 *
 *     closed ──── failures in a row ───► resting ── time passed ──► on trial (one request)
 *        ▲                                  ▲                          │        │
 *        │                                  └──── failed: twice as long ┘        │
 *        └────────────────────────────── succeeded ─────────────────────────────┘
 */
export interface Breaker {
  /** Leave for one request, to be told how it ended; undefined when the store is left alone. */
  admit(): Settle | undefined;
}

/** `neutral`: nothing was learned of the store, for instance since the caller left. */
export type Settle = (outcome: "ok" | "failed" | "neutral") => void;

/** A closed breaker. @param now milliseconds of any clock that only goes forward */
export function createBreaker(now: () => number): Breaker {
  let failures = 0;
  let restMs = restMsMin;
  /** Undefined while closed. */
  let restsUntilMs: number | undefined;
  let onTrial = false;

  const rest = (): void => {
    restsUntilMs = now() + restMs;
    restMs = Math.min(restMs * 2, restMsMax);
  };
  const settle = (outcome: Parameters<Settle>[0], isTrial: boolean): void => {
    if (isTrial) onTrial = false;
    if (outcome === "ok") [failures, restMs, restsUntilMs] = [0, restMsMin, undefined];
    if (outcome !== "failed") return;
    failures += 1;
    if (isTrial || (restsUntilMs === undefined && failures >= failuresMax)) rest();
  };

  return {
    admit() {
      const isTrial = restsUntilMs !== undefined;
      if (restsUntilMs !== undefined && (onTrial || now() < restsUntilMs)) return undefined;
      onTrial = isTrial;
      return (outcome) => settle(outcome, isTrial);
    },
  };
}
