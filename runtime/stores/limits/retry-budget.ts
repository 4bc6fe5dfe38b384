/** Retries that may come in a row. */
const retriesMax = 10;
/** Requests that earn one more retry: retries add at most this share of load to a store in trouble. */
const requestsPerRetry = 10;

/** How many retries a store can be asked to bear. */
export interface RetryBudget {
  /** Counts a request that is no retry. */
  earn(): void;
  /** Takes one retry out of the budget, if there is one. */
  spend(): boolean;
}

/** A full budget. */
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
