import { Refusal } from "../../errors/refusal.ts";
import { type StartedSpan, startSpan, type Tracer } from "../../tracing/tracer.ts";
import type { Again, MetricsResponse, RequestContext } from "../metrics-api.ts";
import type { Instruments, MeasuredRoute, RequestLog, RequestOutcome } from "./instruments.ts";

/** Notes the duration and the outcome of requests, in the recent requests and in the Prometheus metrics. */
interface Measurement {
  /** Measures one request. `work` gets the context with the span of the request. @throws what `work` throws */
  request<Response extends Pick<MetricsResponse, "status">>(
    route: MeasuredRoute,
    request: MeasuredRequest,
    work: (context: RequestContext) => Promise<Response>,
  ): Promise<Response>;
  /** Measures a repeat query, unless the query has to be handled like a new one: {@link request} measures that. */
  repeat(route: MeasuredRoute, again: Again): Again;
}

interface MeasuredRequest {
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

/** Creates the measurement of all requests of one API. @param tracer undefined: no spans */
export function createMeasurement(
  requests: RequestLog,
  instruments: Instruments,
  tracer: Tracer | undefined,
): Measurement {
  const start = (route: MeasuredRoute, ids?: RequestIds): ((outcome: RequestOutcome) => void) => {
    const startMs = performance.now();
    return (outcome) => {
      const durationMs = performance.now() - startMs;
      requests.add(outcome, durationMs);
      const context = ids?.span.context;
      instruments.request(route, outcome, durationMs, context?.isSampled === true ? context.traceId : undefined);
      if (ids !== undefined) endSpan(ids, route, outcome);
    };
  };
  return {
    async request(route, { signal, context }, work) {
      const span = tracer && startSpan(tracer, "query", "server", context.traceparent);
      const end = start(route, span && { span, correlationId: context.correlationId });
      try {
        const response = await work(span === undefined ? context : { ...context, span });
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

interface RequestIds extends Pick<RequestContext, "correlationId"> {
  readonly span: StartedSpan;
}

function endSpan({ span, correlationId }: RequestIds, route: MeasuredRoute, outcome: RequestOutcome): void {
  const attributes = {
    "heliograph.route": route,
    "heliograph.correlation_id": correlationId,
    "heliograph.outcome": outcome,
  };
  span.end(attributes, outcome === "failed" || outcome === "refused" ? outcome : undefined);
}

function failureOf(error: unknown): RequestOutcome {
  return error instanceof Refusal && error.status < 500 ? "refused" : "failed";
}
