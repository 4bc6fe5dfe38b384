// Errors of both APIs: one table of codes and the error class that carries a code. Their HTTP form is elsewhere.
import type { Problem } from "../../api/documents.ts";
import { errorTable, type ErrorCode } from "./table.ts";

/** One invalid field of a request. Its path is as the caller wrote it, such as `filter[region]` or `data.card`. */
export type FieldError = Problem["errors"][number];

/** Parameters of a cheaper query in place of the rejected one. */
export type Suggestion = NonNullable<Problem["suggestion"]>;

export interface RefusalOptions {
  readonly errors?: readonly FieldError[];
  readonly suggestion?: Suggestion | undefined;
  /** Seconds; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
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
    const all = { ...this.headers, ...headers };
    return new Refusal(code, message, { errors, suggestion, retryAfterSeconds, headers: all, cause });
  }
}

/** The same refusal with other names of its fields. */
export function renameFields(refusal: Refusal, rename: (field: string) => string): Refusal {
  const { code, message, suggestion, retryAfterSeconds, headers, cause } = refusal;
  const errors = refusal.errors.map((error) => ({ ...error, field: rename(error.field) }));
  return new Refusal(code, message, { errors, suggestion, retryAfterSeconds, headers, cause });
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

/**
 * Awaits steps in NATS, which fail only because it does not respond.
 *
 * @param detail what does not respond, for the caller
 * @throws Refusal `events_unavailable`, or the refusal of a step
 */
export async function orEventsUnavailable<T>(
  steps: () => Promise<T>,
  detail = "The event store does not respond",
): Promise<T> {
  try {
    return await steps();
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw new Refusal("events_unavailable", detail, { cause, retryAfterSeconds: 1 });
  }
}
