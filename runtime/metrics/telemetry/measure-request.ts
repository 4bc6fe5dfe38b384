import { Refusal } from "../../errors/refusal.ts";
import type { Instruments, MeasuredRoute } from "./instruments.ts";
import type { Again, MetricsResponse } from "../metrics-api.ts";
import type { RequestLog, RequestOutcome } from "./recent-requests.ts";

/** Notes the duration and the outcome of requests, in the recent requests and in the Prometheus metrics. */
interface Measurement {
  /** Measures one request. @throws what `work` throws */
  request<Response extends Pick<MetricsResponse, "status">>(
    route: MeasuredRoute,
    signal: AbortSignal,
    work: () => Promise<Response>,
  ): Promise<Response>;
  /** Measures a repeat query, unless the query has to be handled like a new one: {@link request} measures that. */
  repeat(route: MeasuredRoute, again: Again): Again;
}

/** Creates the measurement of all requests of one API. */
export function createMeasurement(requests: RequestLog, instruments: Instruments): Measurement {
  const start = (route: MeasuredRoute): ((outcome: RequestOutcome) => void) => {
    const startMs = performance.now();
    return (outcome) => {
      const durationMs = performance.now() - startMs;
      requests.add(outcome, durationMs);
      instruments.request(route, outcome, durationMs);
    };
  };
  return {
    async request(route, signal, work) {
      const end = start(route);
      try {
        const response = await work();
        end(response.status === 206 ? "partial" : "ok");
        return response;
      } catch (error) {
        end(signal.aborted ? "left" : failureOf(error));
        throw error;
      }
    },
    repeat: (route, again) => (nowMs) => {
      const end = start(route);
      const headers = again(nowMs);
      if (headers !== undefined) end("ok");
      return headers;
    },
  };
}

function failureOf(error: unknown): RequestOutcome {
  return error instanceof Refusal && error.status < 500 ? "refused" : "failed";
}
