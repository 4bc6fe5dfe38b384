import { Refusal } from "../../errors/refusal.ts";
import type { Instruments, MeasuredRoute } from "./instruments.ts";
import type { Again, MetricsResponse } from "../metrics-api.ts";
import type { RequestLog, RequestOutcome } from "./recent-requests.ts";

/** What is noted of the requests of a route, and where. */
export interface MeasuredWork {
  readonly route: MeasuredRoute;
  readonly requests: RequestLog;
  readonly instruments: Instruments;
}

interface MeasuredRequest extends MeasuredWork {
  readonly signal: AbortSignal;
}

/** An answer as far as its outcome shows in it. */
type Answered = Pick<MetricsResponse, "status">;

/** {@link measured} for one API. */
export type Measure = <Answer extends Answered>(
  route: MeasuredRoute,
  signal: AbortSignal,
  work: () => Promise<Answer>,
) => Promise<Answer>;

/** Answers as `work` does and notes how long that took and how it ended. */
export async function measured<Answer extends Answered>(
  { route, signal, requests, instruments }: MeasuredRequest,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const note = startNote({ route, requests, instruments });
  try {
    const answer = await work();
    note(answer.status === 206 ? "partial" : "ok");
    return answer;
  } catch (error) {
    note(signal.aborted ? "left" : failureOf(error));
    throw error;
  }
}

/** {@link measured} for a request that is asked again; one that has to be looked at as if it were new is noted then. */
export function measuredAgain(measuring: MeasuredWork, again: Again): Again {
  return (nowMs) => {
    const note = startNote(measuring);
    const headers = again(nowMs);
    if (headers !== undefined) note("ok");
    return headers;
  };
}

function startNote({ route, requests, instruments }: MeasuredWork): (outcome: RequestOutcome) => void {
  const startMs = performance.now();
  return (outcome) => {
    const durationMs = performance.now() - startMs;
    requests.add(outcome, durationMs);
    instruments.request(route, outcome, durationMs);
  };
}

function failureOf(error: unknown): RequestOutcome {
  return error instanceof Refusal && error.status < 500 ? "refused" : "failed";
}
