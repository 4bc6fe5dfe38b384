import { Unanswered } from "../../nats/connection/requests.ts";
import type { ReplayJob } from "./replay-job.ts";

/** The failure of a chunk of a replay. Callers see its message. */
export class ReplayFault extends Error {
  /** True when every further try would fail too. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Time for which the same chunk may fail before its replay fails, in milliseconds. */
export const failingMsMax = 600_000;
const pauseFirstMs = 500;
const pauseMsMax = 30_000;
const detailCharactersMax = 512;

/**
 * The state of a replay after a chunk failed. The replay fails when the error is final, or after {@link failingMsMax};
 * otherwise it continues later. A NATS that does not answer is not a failure of the replay.
 */
export function afterFailure(job: ReplayJob, error: unknown, nowMs: number): ReplayJob {
  if (error instanceof Unanswered) return job;
  const failingSince = job.failingSince ?? new Date(nowMs).toISOString();
  const isFinal = error instanceof ReplayFault && error.isFinal;
  const isOver = isFinal || nowMs - Date.parse(failingSince) >= failingMsMax;
  return { ...job, status: isOver ? "failed" : "running", failingSince, detail: detailOf(error) };
}

/** Milliseconds until the next try of a chunk that failed this many times in a row. */
export function pauseAfterFailures(failures: number): number {
  return Math.min(pauseFirstMs * 2 ** (failures - 1), pauseMsMax);
}

function detailOf(error: unknown): string {
  if (error instanceof ReplayFault) return error.message.slice(0, detailCharactersMax);
  return "An internal error stops the replay; the log of the runtime has it under the replay id.";
}
