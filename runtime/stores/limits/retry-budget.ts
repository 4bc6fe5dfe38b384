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
