import { deadLettersPerJobMax } from "../../../api/selections.ts";
import { refilled, spent, type Bucket } from "../../../limits/token-bucket.ts";
import { type ReplayStore, isOver, sumOf, withSelected, type ReplayJob, type ReplayTally } from "./replay-job.ts";
import { createReplayPace, paceMsMax } from "./replay-pace.ts";
import { readChunk, type ReplayChunk } from "./read-chunk.ts";
import { afterFailure, pauseAfterFailures, runChunk, type ReplayDeps, type RunDeps } from "./run-chunk.ts";

/** Events of one chunk. */
const chunkEventsMax = 32;
const fullDetail = `Stopped at the limit of ${deadLettersPerJobMax} dead letters. Send the request again for the rest.`;
/** Time of one run. */
const runMsMax = 1_000;

interface Allowance {
  /** Events of the next chunk: fewer while partners are slow, so that other replays do not wait for this one. */
  eventsMax: number;
  /** Deliveries that may be published now; negative after a chunk with more. */
  bucket: Bucket;
  /** Failed chunks in a row. */
  failures: number;
  /** Time of the next try after a failure, by `performance.now()`. */
  pausedUntilMs: number;
}

/**
 * Creates the job of the leader pod that runs replays. Each call is one run: every open replay continues by some
 * chunks. After a crash, the next run continues from the last stored chunk.
 */
export function createReplayRunner(
  context: ReplayDeps & Pick<RunDeps, "isLeader">,
  store: ReplayStore,
): () => Promise<void> {
  const deps = { ...context, pace: createReplayPace(context) };
  const allowances = new Map<string, Allowance>();
  return async () => {
    const endMs = performance.now() + runMsMax;
    const jobs = await openJobs(store);
    removeEnded(allowances, jobs);
    const run = async (job: ReplayJob): Promise<void> => {
      let next: ReplayJob | undefined = job;
      while (next !== undefined && performance.now() < endMs && !deps.ending.aborted && deps.isLeader())
        next = await runNext(deps, store, next, allowanceOf(allowances, job));
    };
    await Promise.all(jobs.map(run));
  };
}

/** The replays that have not ended. A cancelled replay gets its final status here. */
async function openJobs(store: ReplayStore): Promise<readonly ReplayJob[]> {
  const { jobs, cancelled } = await store.list();
  const open = jobs.filter((job) => !isOver(job));
  const ended = open.filter(({ id }) => cancelled.has(id));
  await Promise.all(ended.map((job) => store.save({ ...job, status: "cancelled" })));
  return open.filter(({ id }) => !cancelled.has(id));
}

/** Runs one chunk; resolves with undefined when the replay has nothing more to do in this run. */
async function runNext(
  deps: RunDeps,
  store: ReplayStore,
  job: ReplayJob,
  allowance: Allowance,
): Promise<ReplayJob | undefined> {
  const rate = { perSecond: job.ratePerSecond, burst: job.ratePerSecond };
  const nowMs = performance.now();
  allowance.bucket = refilled(allowance.bucket, rate, nowMs);
  const { tokens } = allowance.bucket;
  if (tokens < 1 || nowMs < allowance.pausedUntilMs) return undefined;
  try {
    const chunk = await readChunk(deps, job, Math.min(allowance.eventsMax, Math.floor(tokens)));
    const { tally, published, partners } = await runChunk(deps, job, chunk);
    const isSlow = performance.now() - nowMs >= paceMsMax;
    allowance.eventsMax = isSlow
      ? Math.ceil(allowance.eventsMax / 2)
      : Math.min(chunkEventsMax, 2 * allowance.eventsMax);
    allowance.bucket = spent(allowance.bucket, published);
    allowance.failures = 0;
    const next = afterChunk(withSelected(job, partners), chunk, tally);
    // The next leader continues from the last stored chunk; an older state would set it back.
    if (!deps.isLeader()) return undefined;
    await store.save(next);
    return isOver(next) ? undefined : next;
  } catch (error) {
    if (!deps.isLeader()) return undefined;
    // A state that cannot be stored now is stored after the next failure.
    await pauseAfter(deps, store, job, allowance, error).catch(() => undefined);
    return undefined;
  }
}

function afterChunk(job: ReplayJob, { cursor, isEnd }: ReplayChunk, tally: ReplayTally): ReplayJob {
  const { detail: _detail, failingSince: _failingSince, ...rest } = job;
  const sum = sumOf(job.tally, tally);
  const isFull = !isEnd && job.source.kind === "selected_dead_letters" && sum.matched >= deadLettersPerJobMax;
  const over = isFull ? { detail: fullDetail } : {};
  return { ...rest, ...over, status: isEnd || isFull ? "completed" : "running", cursor, tally: sum };
}

/** Stores and logs the failure of a chunk, and pauses the replay. The pause grows with each failure in a row. */
async function pauseAfter(
  deps: ReplayDeps,
  store: ReplayStore,
  job: ReplayJob,
  allowance: Allowance,
  error: unknown,
): Promise<void> {
  allowance.failures += 1;
  allowance.pausedUntilMs = performance.now() + pauseAfterFailures(allowance.failures);
  const next = afterFailure(job, error, deps.now());
  const fields = { err: error, replayId: job.id };
  if (allowance.failures === 1) deps.log.warn(fields, "chunk of a replay failed, retry scheduled");
  if (next.status === job.status && next.failingSince === job.failingSince) return;
  await store.save(next);
  if (next.status === "failed") deps.log.error(fields, "replay failed");
}

function allowanceOf(allowances: Map<string, Allowance>, { id }: ReplayJob): Allowance {
  const bucket = { tokens: 1, atMs: performance.now() };
  const known = allowances.get(id) ?? { eventsMax: chunkEventsMax, bucket, failures: 0, pausedUntilMs: 0 };
  allowances.set(id, known);
  return known;
}

function removeEnded(allowances: Map<string, Allowance>, jobs: readonly ReplayJob[]): void {
  const open = new Set(jobs.map(({ id }) => id));
  [...allowances.keys()].filter((id) => !open.has(id)).forEach((id) => allowances.delete(id));
}
