// Errors of both APIs: one table of codes and the error class that carries a code. Their HTTP form is elsewhere.
import type { Problem } from "../../api/documents.ts";
import { errorTable, type ErrorCode } from "./table.ts";

/** One invalid field of a request. Its path is as the caller wrote it, such as `filter[region]` or `data.card`. */
export type FieldError = Problem["errors"][number];

/** Parameters of a cheaper query in place of the rejected one. */
export type Suggestion = NonNullable<Problem["suggestion"]>;

export interface ApiErrorOptions {
  readonly errors?: readonly FieldError[];
  readonly suggestion?: Suggestion | undefined;
  /** Seconds; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  /** Additional headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only, never for the caller. */
  readonly cause?: unknown;
}

/** Rejects a request with an error of the table. The caller sees `message`; only the log has `cause`. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly errors: readonly FieldError[];
  readonly suggestion: Suggestion | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, options: ApiErrorOptions = {}) {
    super(detail, { cause: options.cause });
    this.code = code;
    this.status = errorTable[code].status;
    this.errors = options.errors ?? [];
    this.suggestion = options.suggestion;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
  }

  /** The same error with more headers. */
  with(headers: Readonly<Record<string, string>>): ApiError {
    const { code, message, errors, suggestion, retryAfterSeconds, cause } = this;
    const all = { ...this.headers, ...headers };
    return new ApiError(code, message, { errors, suggestion, retryAfterSeconds, headers: all, cause });
  }
}

/** The same error with its fields renamed. */
export function renameFields(error: ApiError, rename: (field: string) => string): ApiError {
  const { code, message, suggestion, retryAfterSeconds, headers, cause } = error;
  const errors = error.errors.map((item) => ({ ...item, field: rename(item.field) }));
  return new ApiError(code, message, { errors, suggestion, retryAfterSeconds, headers, cause });
}

/** Error of one field. The body and the field have the same detail. */
export function invalidField(
  code: ErrorCode,
  field: string,
  detail: string,
  options: Omit<ApiErrorOptions, "errors"> = {},
): ApiError {
  return new ApiError(code, detail, { ...options, errors: [{ field, code, detail }] });
}

/**
 * Awaits steps in NATS, which fail only because it does not respond.
 *
 * @param detail what does not respond, for the caller
 * @throws ApiError `events_unavailable`, or the error of a step
 */
export async function orEventsUnavailable<T>(
  steps: () => Promise<T>,
  detail = "The event store does not respond",
): Promise<T> {
  try {
    return await steps();
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw new ApiError("events_unavailable", detail, { cause, retryAfterSeconds: 1 });
  }
}
