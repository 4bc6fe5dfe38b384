// Limits on reads of stores: bytes, deadlines, retries, circuit breakers, fan-out. It knows no HTTP.
import { onAbort, untilAborted } from "../../../limits/clock.ts";
import { StoreError } from "../store-error.ts";

/** The outcome of one of several requests to stores. */
export type ReadOutcome<Value> =
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
): Promise<readonly ReadOutcome<Value>[]> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const end = (): void => controller.abort(new StoreError("late", `no response in ${deadlineMs} ms`));
  const timer = setTimeout(end, deadlineMs);
  if (deadlineMs <= 0) end();
  const forget = onAbort(signal, () => controller.abort(signal.reason));
  const start = async (job: Job): Promise<Value> => {
    controller.signal.throwIfAborted();
    return await untilAborted(run(job, controller.signal), controller.signal);
  };
  const outcomes: ReadOutcome<Value>[] = [];
  const places = [...Map.groupBy(jobs.keys(), (place) => storeOf(jobs[place] as Job)).values()];
  try {
    await Promise.all(
      places.map((own) =>
        runBounded(own, jobsMax, async (place) => {
          outcomes[place] = await outcomeOf(start(jobs[place] as Job));
        }),
      ),
    );
    return outcomes;
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    clearTimeout(timer);
    forget();
  }
}

async function outcomeOf<Value>(running: Promise<Value>): Promise<ReadOutcome<Value>> {
  try {
    return { ok: true, value: await running };
  } catch (error) {
    if (error instanceof StoreError) return { ok: false, error };
    throw error;
  }
}

/**
 * Runs jobs, at most `most` at once, and returns their values in the order of the jobs. After a failure it starts no
 * further job.
 *
 * @throws the first failure
 */
export async function runBounded<Job, Value>(
  jobs: readonly Job[],
  most: number,
  run: (job: Job) => Promise<Value>,
): Promise<readonly Value[]> {
  const values: Value[] = [];
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < jobs.length && !failed) {
      const index = next;
      next += 1;
      try {
        values[index] = await run(jobs[index] as Job);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, jobs.length) }, work));
  return values;
}

/** One deadline for several reads together. */
export interface ReadDeadline {
  /** Aborts as `late` at the deadline, and at the end. */
  readonly signal: AbortSignal;
  /** Whole milliseconds until the deadline; 0 after it. */
  leftMs(): number;
  /** Ends the reads: it cancels those that still run. */
  end(): void;
}

/** Starts a deadline. */
export function startReadDeadline(deadlineMs: number): ReadDeadline {
  const endsAtMs = performance.now() + deadlineMs;
  const controller = new AbortController();
  const abort = (): void => controller.abort(new StoreError("late", `no response in ${deadlineMs} ms`));
  const timer = setTimeout(abort, deadlineMs);
  return {
    signal: controller.signal,
    leftMs: () => Math.max(0, Math.ceil(endsAtMs - performance.now())),
    end() {
      clearTimeout(timer);
      abort();
    },
  };
}

/** Most bytes of all responses to one query: 50 series of 11,000 points, or a fan-out of buckets. */
export const queryBytesMax = 48 * 1024 * 1024;

/** The bytes that one query may still read. All requests of the query share the budget, which bounds its memory. */
export interface ByteBudget {
  /** Counts bytes that were read. @throws StoreError `too_large` */
  take(bytes: number): void;
  /** Checks an announced length before the bytes are read. @throws StoreError `too_large` */
  check(bytes: number): void;
  /** The number of bytes that were read. */
  taken(): number;
}

/** Creates a full budget. */
export function createByteBudget(bytesMax: number = queryBytesMax): ByteBudget {
  let taken = 0;
  const check = (bytes: number): void => {
    if (taken + bytes > bytesMax) throw new StoreError("too_large", `the stores return more than ${bytesMax} bytes`);
  };
  return {
    check,
    take(bytes) {
      check(bytes);
      taken += bytes;
    },
    taken: () => taken,
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
