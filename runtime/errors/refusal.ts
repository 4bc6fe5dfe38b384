// Errors of both APIs: one table of codes and the error class that carries a code. Their HTTP form is elsewhere.
import type { Problem } from "../../api/documents.ts";
import { errorTable, type ErrorCode } from "./table.ts";

/** One invalid field of a request. Its path is as the caller wrote it, such as `filter[region]` or `data.card`. */
export type FieldError = Problem["errors"][number];

/** Parameters of a cheaper query in place of the rejected one. */
export type Suggestion = NonNullable<Problem["suggestion"]>;

export interface RefusalOptions {
  readonly errors?: readonly FieldError[];
  readonly suggestion?: Suggestion;
  /** Seconds; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Additional headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only, never for the caller. */
  readonly cause?: unknown;
}

/** Refuses a request with an error of the table. The caller sees `message`; only the log has `cause`. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: ErrorCode;
  readonly status: number;
  readonly errors: readonly FieldError[];
  readonly suggestion: Suggestion | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, options: RefusalOptions = {}) {
    super(detail, { cause: options.cause });
    this.code = code;
    this.status = errorTable[code].status;
    this.errors = options.errors ?? [];
    this.suggestion = options.suggestion;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
  }

  /** The same refusal with more headers. */
  with(headers: Readonly<Record<string, string>>): Refusal {
    const { code, message, errors, suggestion, retryAfterSeconds, cause } = this;
    return new Refusal(code, message, {
      errors,
      ...(suggestion === undefined ? {} : { suggestion }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      headers: { ...this.headers, ...headers },
      cause,
    });
  }
}

/** The same refusal with other names of its fields. */
export function renameFields(refusal: Refusal, rename: (field: string) => string): Refusal {
  const { code, message, errors, suggestion, retryAfterSeconds, headers, cause } = refusal;
  return new Refusal(code, message, {
    errors: errors.map((error) => ({ ...error, field: rename(error.field) })),
    ...(suggestion === undefined ? {} : { suggestion }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    headers,
    cause,
  });
}

/** A refusal because of one field. The body and the field have the same detail. */
export function refuseField(
  code: ErrorCode,
  field: string,
  detail: string,
  options: Omit<RefusalOptions, "errors"> = {},
): Refusal {
  return new Refusal(code, detail, { ...options, errors: [{ field, code, detail }] });
}
