import { Refusal } from "../../errors/refusal.ts";

/** Seconds after which a caller who found the gate full may try again. */
const retryAfterSeconds = 1;

/** Lets through at most so much work at once. @throws Refusal `too_many_requests` for what is above that */
type ConcurrencyLimit = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** An open gate. @param detail what is told to whoever finds it full */
export function createConcurrencyLimit(most: number, detail: string): ConcurrencyLimit {
  let inside = 0;
  return async (work) => {
    if (inside >= most) throw new Refusal("too_many_requests", detail, { retryAfterSeconds });
    inside += 1;
    try {
      return await work();
    } finally {
      inside -= 1;
    }
  };
}
