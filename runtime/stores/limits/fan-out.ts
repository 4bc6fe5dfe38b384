// Limits on reads of stores: bytes, deadlines, retries, circuit breakers, fan-out. It knows no HTTP.
import { runBounded } from "./run-bounded.ts";
import { StoreError } from "../store-error.ts";

/** The outcome of one of several requests to stores. */
export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: StoreError };

export interface FanOutOptions {
  /** Bound on all jobs together, in milliseconds. A job that has not ended by then is `late`. */
  readonly deadlineMs: number;
  /** The signal of the caller. */
  readonly signal: AbortSignal;
}

/** Jobs of one query that run at once on one store. The others wait inside the same deadline. */
const jobsMax = 32;

/** Jobs, how to run one, and the store that it reads. */
interface StoreJobs<Job, Value> {
  readonly jobs: readonly Job[];
  /** Jobs of different stores never wait for each other. */
  readonly storeOf: (job: Job) => string;
  readonly run: (job: Job, signal: AbortSignal) => Promise<Value>;
}

/**
 * Runs jobs under one deadline and returns their outcomes in the order of the jobs. At the deadline, and when the
 * caller aborts, it cancels the running jobs and starts no other one.
 *
 * @throws the signal's reason when the caller aborts first; any error of a job other than `StoreError`
 */
export async function fanOut<Job, Value>(
  { jobs, storeOf, run }: StoreJobs<Job, Value>,
  { deadlineMs, signal }: FanOutOptions,
): Promise<readonly Outcome<Value>[]> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stop = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(controller.signal.reason as Error), { once: true });
  });
  // It can reject after the last job has ended, when no race handles the rejection.
  stop.catch(() => undefined);
  const end = (): void => controller.abort(new StoreError("late", `no response in ${deadlineMs} ms`));
  const timer = setTimeout(end, deadlineMs);
  if (deadlineMs <= 0) end();
  const abort = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const settled = (job: Job): Promise<Outcome<Value>> =>
    settle(controller.signal.aborted ? stop : Promise.race([run(job, controller.signal), stop]));
  const outcomes: Outcome<Value>[] = [];
  const places = [...Map.groupBy(jobs.keys(), (place) => storeOf(jobs[place] as Job)).values()];
  try {
    await Promise.all(
      places.map((own) =>
        runBounded(own, jobsMax, async (place) => {
          outcomes[place] = await settled(jobs[place] as Job);
        }),
      ),
    );
    return outcomes;
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

async function settle<Value>(running: Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { ok: true, value: await running };
  } catch (error) {
    if (error instanceof StoreError) return { ok: false, error };
    throw error;
  }
}
