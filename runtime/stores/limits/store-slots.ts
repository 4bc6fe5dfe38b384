import { waitInQueue } from "../../../limits/abort.ts";
import { createRunningClock, type RunningClock } from "../../../limits/clock.ts";
import { StoreError } from "../store-error.ts";

/** Most requests that wait for one store. */
const waitingMax = 20_000;

/** Places for the requests to one store. */
interface StoreSlots {
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

  const add = (turn: string, enter: () => void): void => {
    waiting.set(turn, (waiting.get(turn) ?? new Set()).add(enter));
    waitingCount += 1;
  };
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
      await waitInQueue({ add: (enter) => add(turn, enter), delete: (enter) => remove(turn, enter) }, signal);
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

/** The requests to one store that have no response yet, and those that never got one. */
export interface StoreSilence {
  /** Milliseconds of the clock of this record. */
  nowMs(): number;
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
 * Creates a record without requests. A time in which this process stood still is not one in which the store was silent:
 * its responses may wait to be read.
 *
 * @param fullMs time after which a response is missing
 */
export function createStoreSilence(fullMs: number, clock: RunningClock = createRunningClock()): StoreSilence {
  const now = (): number => clock.nowMs();
  // In the order in which they were sent.
  const open = new Set<OpenRequest>();
  let [respondedAtMs, silentAtMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const isSilent = ({ sentAtMs }: OpenRequest): boolean => now() - Math.max(sentAtMs, respondedAtMs) >= fullMs;
  return {
    nowMs: now,
    begin() {
      const stop = clock.start();
      const request = { sentAtMs: now() };
      open.add(request);
      return (hasResponded) => {
        open.delete(request);
        stop();
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

/** Most consecutive retries. */
const retriesMax = 10;
/** Requests per additional retry. It bounds the load that retries add to a failing store. */
const requestsPerRetry = 10;

/** The retries that may be sent to one store. */
export interface RetryBudget {
  /** Counts a request that is not a retry. */
  earn(): void;
  /** Takes one retry from the budget; false when the budget is empty. */
  spend(): boolean;
}

/** Creates a full budget. */
export function createRetryBudget(): RetryBudget {
  let retries = retriesMax;
  return {
    earn() {
      retries = Math.min(retriesMax, retries + 1 / requestsPerRetry);
    },
    spend() {
      if (retries < 1) return false;
      retries -= 1;
      return true;
    },
  };
}
