import type { Logger } from "pino";
import type { Refusal } from "../../errors/refusal.ts";
import type { RequestOutcome } from "./request-metrics.ts";

/** Status in the log and the metrics for a caller that disconnected before the response; never sent. */
export const hungUpStatus = 499;

/** One finished request. */
interface EndedRequest extends RequestOutcome {
  readonly correlationId: string;
  /** Correlation id in the response when it differs. */
  readonly answerId: string | undefined;
  /** Client key of the caller. */
  readonly client: string | undefined;
  /** The refusal in the response. */
  readonly refusal: Refusal | undefined;
}

/** Destinations of the end of a request. */
export interface EndNotes {
  readonly log: Pick<Logger, "info" | "error">;
  /** Called with the outcome of every request. */
  readonly observe: (outcome: RequestOutcome) => void;
}

/** Counts a request and writes its one line. */
export function noteEnd({ log, observe }: EndNotes, ended: EndedRequest): void {
  const { correlationId, answerId, method, route, status, durationMs, client, refusal } = ended;
  observe(ended);
  const line = {
    correlationId,
    method,
    route,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(answerId === undefined ? {} : { answerId }),
    ...(client === undefined ? {} : { client }),
    ...(refusal === undefined ? {} : { code: refusal.code, detail: refusal.message, err: refusal.cause }),
  };
  if (status >= 500) log.error(line, "request");
  else log.info(line, "request");
}
