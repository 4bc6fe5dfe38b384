import { Refusal } from "../../errors/refusal.ts";

/** Seconds after which a refused caller can try again. */
const retryAfterSeconds = 1;

/** Runs work up to a number at once. @throws Refusal `too_many_requests` above it */
type ConcurrencyLimit = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Creates a concurrency limit. @param detail of the refusals */
export function createConcurrencyLimit(most: number, detail: string): ConcurrencyLimit {
  let running = 0;
  return async (work) => {
    if (running >= most) throw new Refusal("too_many_requests", detail, { retryAfterSeconds });
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
}
