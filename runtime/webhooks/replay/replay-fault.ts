import { Unanswered } from "../../nats/connection/requests.ts";
import type { ReplayJob } from "./replay-job.ts";

/** Why a part of a replay cannot be done; its message is for callers. */
export class ReplayFault extends Error {
  /** Whether trying again cannot help. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** How long the same part of a replay may fail, in milliseconds. */
export const replayPatienceMs = 600_000;
const pauseFirstMs = 500;
const pauseMsMax = 30_000;
const detailCharactersMax = 512;

/**
 * A replay after a part of it failed: it goes on later, or has failed when trying again cannot help or has not for
 * {@link replayPatienceMs}. A NATS that does not answer is no failure of the replay.
 */
export function afterFailure(job: ReplayJob, error: unknown, nowMs: number): ReplayJob {
  if (error instanceof Unanswered) return job;
  const failingSince = job.failingSince ?? new Date(nowMs).toISOString();
  const isFinal = error instanceof ReplayFault && error.isFinal;
  const isOver = isFinal || nowMs - Date.parse(failingSince) >= replayPatienceMs;
  return { ...job, status: isOver ? "failed" : "running", failingSince, detail: detailOf(error) };
}

/** Milliseconds until a part that failed this many times in a row is done again. */
export function pauseAfterFailures(failures: number): number {
  return Math.min(pauseFirstMs * 2 ** (failures - 1), pauseMsMax);
}

function detailOf(error: unknown): string {
  if (error instanceof ReplayFault) return error.message.slice(0, detailCharactersMax);
  return "An internal error stops the replay; the log of the runtime has it under the replay id.";
}
