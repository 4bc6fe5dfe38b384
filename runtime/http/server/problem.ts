import type { Problem } from "../../../api/documents.ts";
import type { PrometheusError } from "../../../api/prometheus.ts";
import { ApiError } from "../../errors/api-error.ts";
import { type ErrorCode, errorTable } from "../../errors/table.ts";
import { proofAlgorithms } from "../authentication/dpop-proof.ts";

/** Media type of every error. Source: RFC 9457 §3. */
export const problemMediaType = "application/problem+json";

const typePrefix = "https://heliograph.dev/errors#";

/** The problem document of a rejection: the body of its error, without the cause. Source: RFC 9457. */
export function problemOf(apiError: ApiError, correlationId: string): Problem {
  const { code, status, message, errors, suggestion } = apiError;
  return {
    type: typePrefix + code,
    title: errorTable[code].title,
    status,
    detail: message,
    code,
    errors,
    correlation_id: correlationId,
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

/**
 * Headers of a rejection: the hints of seed "Operational Metrics API" §7 and, for tokens, the challenge of RFC 6750 §3
 * or RFC 9449 §7.1.
 * @param scopes those of which the route needs one
 */
export function problemHeaders(apiError: ApiError, scopes: readonly string[] = []): Readonly<Record<string, string>> {
  const { retryAfterSeconds, suggestion, headers } = apiError;
  const challenge = challengeOf(apiError, scopes);
  return {
    ...headers,
    ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterSeconds)) }),
    ...(suggestion?.step === undefined ? {} : { "x-suggested-step": suggestion.step }),
    ...(suggestion?.downsample === undefined ? {} : { "x-suggested-downsample": suggestion.downsample }),
    ...(challenge === undefined ? {} : { "www-authenticate": challenge }),
  };
}

function challengeOf({ code, message }: ApiError, scopes: readonly string[]): string | undefined {
  const realm = 'Bearer realm="heliograph"';
  const dpop = `DPoP algs="${proofAlgorithms.join(" ")}"`;
  // Both schemes, since only the token shows which one it needs.
  if (code === "token_missing") return `${realm}, ${dpop}`;
  if (code === "proof_invalid") return `${dpop}, error="invalid_dpop_proof", error_description="${quotable(message)}"`;
  if (code === "token_invalid") return `${realm}, error="invalid_token", error_description="${quotable(message)}"`;
  if (code === "scope_missing") return `${realm}, error="insufficient_scope", scope="${scopes.join(" ")}"`;
  return undefined;
}

/** RFC 6750 §3 allows neither quotes nor backslashes nor anything outside ASCII here. */
function quotable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]|["\\]/gu, "'");
}

type Rendering = readonly [code: ErrorCode, detail: string];

/** Errors that Fastify and Node raise by themselves, in the words of the error table. */
const renderings: Readonly<Record<string, Rendering>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["body_too_large", "The body is larger than this endpoint accepts."],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["unsupported_media_type", "Send the body as application/json."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["invalid_request", "The length of the body does not match Content-Length."],
  FST_ERR_BAD_URL: ["invalid_request", "The request target is not a valid URL."],
  FST_ERR_MAX_PARAM_LENGTH: ["uri_too_long", "A path segment is too long."],
  FST_ERR_HANDLER_TIMEOUT: [
    "answer_timeout",
    "The response took too long. The request may or may not have been processed.",
  ],
  HPE_HEADER_OVERFLOW: ["headers_too_large", "The request line and headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "The request was not received in time."],
};

/** The rejection of any error of a request. A rejection that is not the caller's fault has no details. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, statusCode } = (error ?? {}) as { readonly code?: unknown; readonly statusCode?: unknown };
  const rendering = typeof code === "string" ? renderings[code] : undefined;
  if (rendering !== undefined) return new ApiError(rendering[0], rendering[1], { cause: error });
  if (isClientFault(code, statusCode))
    return new ApiError("invalid_request", "The request is not valid HTTP.", { cause: error });
  return new ApiError("internal", "Internal error. See the server log for this correlation id.", {
    cause: error,
  });
}

function isClientFault(code: unknown, statusCode: unknown): boolean {
  const isParseError = typeof code === "string" && code.startsWith("HPE_");
  return isParseError || (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500);
}

/**
 * The error of a rejection with its status. Clients of Prometheus read the bodies of 400, 422 and 503 only. Statuses of
 * HTTP and of its authentication stay as they are. Source: Prometheus, "HTTP API", format overview.
 */
export function prometheusError(apiError: ApiError): { readonly status: number; readonly body: PrometheusError } {
  const status = apiError.code === "result_too_large" ? 422 : (statuses[apiError.status] ?? apiError.status);
  const body = { status: "error", errorType: typeOf(status, apiError), error: textOf(apiError), code: apiError.code };
  return { status, body: { ...body, status: "error" } };
}

/** The message with the suggested step: clients show no other member and no header. */
function textOf({ message, suggestion }: ApiError): string {
  const text = inPromql(message);
  const step = suggestion?.step === undefined ? "" : `step=${suggestion.step}`;
  return text.includes(step) ? text : `${text}; the suggestion is ${step}`;
}

/** Missing rights and removed metrics are errors of the execution, failed stores make the service unavailable. */
const statuses: Readonly<Record<number, number>> = {
  403: 422,
  409: 422,
  410: 422,
  406: 400,
  415: 400,
  502: 503,
  504: 503,
};

function typeOf(status: number, { code }: ApiError): string {
  const named = types[status];
  if (code === "answer_timeout" || code === "store_timeout") return "timeout";
  return named ?? (errorTable[code].status >= 500 ? "internal" : "bad_data");
}

const types: Readonly<Record<number, string>> = {
  401: "unauthorized",
  404: "not_found",
  422: "execution",
  429: "too_many_requests",
  500: "internal",
  503: "unavailable",
};

const listOfValues = /filter_in\[([a-z_]+)\]=[^\s;&]+(?:&filter_in\[\1\]=[^\s;&]+)*/gu;
const filter = /filter(?:_in)?\[([a-z_]+)\](?:=([^\s;&]+))?/gu;

/** A sentence of the native API in the words of PromQL: its filters are matchers, and `group_by` is `by`. */
export function inPromql(sentence: string): string {
  return sentence
    .replaceAll(listOfValues, (text, label: string) => `${label}=~"${valuesOf(text).join("|")}"`)
    .replaceAll(filter, (_text, label: string, value: string | undefined) => `${label}="${value ?? "…"}"`)
    .replaceAll(/\bgroup_by\b/gu, "by")
    .replaceAll("/v1/metrics/catalog", "/prometheus/api/v1/metadata");
}

function valuesOf(text: string): readonly string[] {
  return text.split("&").map((pair) => pair.slice(pair.indexOf("=") + 1));
}
