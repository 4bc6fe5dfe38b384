import { Refusal } from "../errors/refusal.ts";
import type { Instruments, MeasuredRoute } from "./instruments.ts";
import type { MetricsAnswer } from "./metrics-api.ts";
import type { RequestLog, RequestOutcome } from "./request-log.ts";

interface MeasuredRequest {
  readonly route: MeasuredRoute;
  readonly signal: AbortSignal;
  readonly requests: RequestLog;
  readonly instruments: Instruments;
}

/** An answer as far as its outcome shows in it. */
type Answered = Pick<MetricsAnswer, "status">;

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
  const startMs = performance.now();
  const note = (outcome: RequestOutcome): void => {
    const durationMs = performance.now() - startMs;
    requests.add(outcome, durationMs);
    instruments.request(route, outcome, durationMs);
  };
  try {
    const answer = await work();
    note(answer.status === 206 ? "partial" : "ok");
    return answer;
  } catch (error) {
    note(signal.aborted ? "left" : failureOf(error));
    throw error;
  }
}

function failureOf(error: unknown): RequestOutcome {
  return error instanceof Refusal && error.status < 500 ? "refused" : "failed";
}
