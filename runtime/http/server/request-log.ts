import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { instrumentsOf } from "../../../limits/instruments.ts";
import { createLineLimit } from "../../../limits/token-bucket.ts";
import type { ApiError } from "../../errors/api-error.ts";
import type { ErrorCode } from "../../errors/table.ts";

/** Status in the log and the metrics for a caller that disconnected before the response; never sent. */
export const clientClosedStatus = 499;

/** One finished request. */
interface EndedRequest extends RequestOutcome {
  readonly correlationId: string;
  /** Correlation id in the response when it differs. */
  readonly responseId: string | undefined;
  /** Client key of the caller. */
  readonly client: string | undefined;
  /** The rejection in the response. */
  readonly apiError: ApiError | undefined;
}

/** Destinations of the end of a request. */
export interface EndNotes {
  readonly log: Pick<Logger, "info" | "error">;
  /** Called with the outcome of every request. */
  readonly observe: (outcome: RequestOutcome) => void;
}

/** Counts a request and writes its one line. */
export function logRequest({ log, observe }: EndNotes, ended: EndedRequest): void {
  const { correlationId, responseId, method, route, status, durationMs, client, apiError } = ended;
  observe(ended);
  const line = {
    correlationId,
    method,
    route,
    status,
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(responseId === undefined ? {} : { answerId: responseId }),
    ...(client === undefined ? {} : { client }),
    ...(apiError === undefined ? {} : { code: apiError.code, detail: apiError.message, err: apiError.cause }),
  };
  if (status >= 500) log.error(line, "request");
  else log.info(line, "request");
}

/** Header of the correlation id in requests and responses. */
export const correlationHeader = "x-correlation-id";

const wellFormed = /^[A-Za-z0-9._:-]{1,128}$/u;

/** The caller's correlation id if it is valid (1 to 128 of `A-Z a-z 0-9 . _ : -`), otherwise a new one. */
export function correlationIdOf(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && wellFormed.test(header) ? header : randomUUID();
}

/** A request, or a part of one, that was rejected for lack of rights. */
export interface RejectedAccess {
  readonly code: ErrorCode;
  /** The detail of the rejection, which holds no secret. */
  readonly detail: string;
  readonly correlationId: string;
  readonly method: string;
  /** The route's pattern. */
  readonly route: string;
  /** Remote address of the connection. */
  readonly address: string | undefined;
  /** Undefined for an unknown caller. */
  readonly client?: string | undefined;
  /** Of the item of a bulk request. */
  readonly item?: string;
}

/** Writes one line for each rejection, up to a rate limit. */
export type Audit = (rejected: RejectedAccess) => void;

/** True for rejections of authentication and authorization. */
export function isAudited(status: number): boolean {
  return status === 401 || status === 403;
}

/** Creates an audit that writes to a log. A line holds the number of rejections left out before it. */
export function createAudit(log: Logger, now: () => number): Audit {
  const limit = createLineLimit(now);
  return (rejected) => {
    const leftOut = limit();
    if (leftOut === undefined) return;
    log.warn({ audit: "refused", ...rejected, ...(leftOut === 0 ? {} : { leftOut }) }, "access denied");
  };
}

/** Outcome of one request. */
export interface RequestOutcome {
  readonly method: string;
  /** The route's pattern, never the target: a label must not grow with what callers send. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** Bytes of the body as sent. */
  readonly bytes: number;
}

/** From a small object to the largest responses, in steps of four. */
const sizeBucketsBytes = [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** Spread around the bars of seed "Operational Metrics API" §8: 300 ms cached, 1.5 s cold. */
const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 0.6, 1.5, 3, 6, 15, 30];

/** Counts and times requests under `heliograph_http_…`. */
export function createRequestMetrics(registry: Registry): (outcome: RequestOutcome) => void {
  const { counter, histogram } = instrumentsOf(registry, "heliograph_http_");
  const requests = counter("requests_total", "Responses by route and status.", ["method", "route", "status"]);
  const duration = histogram(
    "request_duration_seconds",
    "Duration of requests, up to the end of the response.",
    durationBucketsSeconds,
    ["route"],
  );
  const size = histogram("response_size_bytes", "Bytes of response bodies as sent.", sizeBucketsBytes, ["route"]);
  return ({ method, route, status, durationMs, bytes }) => {
    requests.inc({ method, route, status: String(status) });
    duration.observe({ route }, durationMs / 1000);
    if (bytes > 0) size.observe({ route }, bytes);
  };
}
