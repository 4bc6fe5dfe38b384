import { Refusal } from "../../errors/refusal.ts";
import type { ErrorCode } from "../../errors/table.ts";

type Rendering = readonly [code: ErrorCode, detail: string];

/** Errors that Fastify and Node raise by themselves, in the words of the error table. */
const renderings: Readonly<Record<string, Rendering>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["body_too_large", "The body is larger than this endpoint accepts."],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["unsupported_media_type", "Send the body as application/json."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["invalid_request", "The length of the body differs from Content-Length."],
  FST_ERR_BAD_URL: ["invalid_request", "The request target is not a valid URL."],
  FST_ERR_MAX_PARAM_LENGTH: ["uri_too_long", "A segment of the path is too long."],
  FST_ERR_HANDLER_TIMEOUT: ["answer_timeout", "The response took too long. The outcome is unknown."],
  HPE_HEADER_OVERFLOW: ["headers_too_large", "The request line and headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "The request did not arrive in time."],
};

/** The refusal of any error of a request. A refusal that is not the caller's fault has no details. */
export function refusalOfError(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code, statusCode } = (error ?? {}) as { readonly code?: unknown; readonly statusCode?: unknown };
  const rendering = typeof code === "string" ? renderings[code] : undefined;
  if (rendering !== undefined) return new Refusal(rendering[0], rendering[1], { cause: error });
  if (isClientFault(code, statusCode)) {
    return new Refusal("invalid_request", "The request is not valid HTTP.", { cause: error });
  }
  return new Refusal("internal", "Internal error. The server log has the cause under this correlation id.", {
    cause: error,
  });
}

function isClientFault(code: unknown, statusCode: unknown): boolean {
  const isParseError = typeof code === "string" && code.startsWith("HPE_");
  return isParseError || (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500);
}
