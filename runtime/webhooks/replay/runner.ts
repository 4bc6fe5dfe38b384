import type { ReplayStore } from "./replay-store.ts";
import { readChunk, type ReplayChunk } from "./read-chunk.ts";
import { afterFailure, pauseAfterFailures } from "./replay-fault.ts";
import { isOver, sumOf, type ReplayJob, type ReplayTally } from "./replay-job.ts";
import { runChunk, type ReplayDeps } from "./run-chunk.ts";

/** Events of one part. */
const chunkEventsMax = 32;
/** Longest time that one turn works on. */
const turnMs = 1_000;
const secondMs = 1_000;

interface Allowance {
  /** Deliveries that may begin now; below zero after a part that held more. */
  left: number;
  refilledAtMs: number;
  /** Parts in a row that failed. */
  failures: number;
  /** No part is begun before this time of `performance.now()`. */
  restsUntilMs: number;
}

/**
 * What one pod does for the replays of the installation: each call is one turn, in which every replay that is not over
 * goes on by some parts. Where a turn or a process ends early, the next one goes on from the last part that was kept.
 */
export function createReplayRunner(deps: ReplayDeps, store: ReplayStore): () => Promise<void> {
  const allowances = new Map<string, Allowance>();
  return async () => {
    const endMs = performance.now() + turnMs;
    let jobs = await openJobs(store);
    forget(allowances, jobs);
    while (jobs.length > 0 && performance.now() < endMs && !deps.ending.aborted) {
      const next = await Promise.all(jobs.map((job) => goOn(deps, store, job, allowanceOf(allowances, job))));
      jobs = next.filter((job) => job !== undefined);
    }
  };
}

/** Replays that are not over; one that was cancelled is over from here on. */
async function openJobs(store: ReplayStore): Promise<readonly ReplayJob[]> {
  const { jobs, cancelled } = await store.list();
  const open = jobs.filter((job) => !isOver(job));
  const ended = open.filter(({ id }) => cancelled.has(id));
  await Promise.all(ended.map((job) => store.save({ ...job, status: "cancelled" })));
  return open.filter(({ id }) => !cancelled.has(id));
}

/** One part; undefined when there is nothing to do in this turn. */
async function goOn(
  deps: ReplayDeps,
  store: ReplayStore,
  job: ReplayJob,
  allowance: Allowance,
): Promise<ReplayJob | undefined> {
  refill(allowance, job.ratePerSecond);
  if (allowance.left < 1 || performance.now() < allowance.restsUntilMs) {
    return undefined;
  }
  try {
    const chunk = await readChunk(deps, job, Math.min(chunkEventsMax, Math.floor(allowance.left)));
    const { tally, published } = await runChunk(deps, job, chunk);
    allowance.left -= published;
    allowance.failures = 0;
    const next = afterPart(job, chunk, tally);
    await store.save(next);
    return chunk.isEnd ? undefined : next;
  } catch (error) {
    // What cannot be kept now is kept after the next failure.
    await pauseAfter(deps, store, job, allowance, error).catch(() => undefined);
    return undefined;
  }
}

function afterPart(job: ReplayJob, { cursor, isEnd }: ReplayChunk, tally: ReplayTally): ReplayJob {
  const { detail: _detail, failingSince: _failingSince, ...rest } = job;
  return { ...rest, status: isEnd ? "completed" : "running", cursor, tally: sumOf(job.tally, tally) };
}

/** Keeps that a part failed, tells it once, and pauses; the next turns of the replay begin later and later. */
async function pauseAfter(
  deps: ReplayDeps,
  store: ReplayStore,
  job: ReplayJob,
  allowance: Allowance,
  error: unknown,
): Promise<void> {
  allowance.failures += 1;
  allowance.restsUntilMs = performance.now() + pauseAfterFailures(allowance.failures);
  const next = afterFailure(job, error, deps.now());
  const fields = { err: error, replayId: job.id };
  if (allowance.failures === 1) deps.log.warn(fields, "part of a replay failed, retry scheduled");
  if (next.status === job.status && next.failingSince === job.failingSince) return;
  await store.save(next);
  if (next.status === "failed") deps.log.error(fields, "replay failed");
}

function allowanceOf(allowances: Map<string, Allowance>, { id }: ReplayJob): Allowance {
  const known = allowances.get(id) ?? { left: 1, refilledAtMs: performance.now(), failures: 0, restsUntilMs: 0 };
  allowances.set(id, known);
  return known;
}

/** At most what one second gives may begin at once. */
function refill(allowance: Allowance, ratePerSecond: number): void {
  const nowMs = performance.now();
  const gained = ((nowMs - allowance.refilledAtMs) / secondMs) * ratePerSecond;
  allowance.left = Math.min(allowance.left + gained, Math.max(1, ratePerSecond));
  allowance.refilledAtMs = nowMs;
}

function forget(allowances: Map<string, Allowance>, jobs: readonly ReplayJob[]): void {
  const open = new Set(jobs.map(({ id }) => id));
  [...allowances.keys()].filter((id) => !open.has(id)).forEach((id) => allowances.delete(id));
}
