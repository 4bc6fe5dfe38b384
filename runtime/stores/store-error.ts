/**
 * The reason for which a store gave no data:
 *
 * | Kind | Means |
 * | --- | --- |
 * | `late` | the deadline passed first |
 * | `unreachable` | there was no connection, or it broke |
 * | `status` | the HTTP status is not one of a query API |
 * | `refused` | the store refused or gave up the query |
 * | `too_large` | the response has more bytes than one query may read |
 * | `malformed` | the bytes are not a response of a query API |
 * | `unsupported` | the store cannot compute this kind of query exactly |
 * | `resting` | the circuit breaker is open: no request was sent |
 */
export type StoreErrorKind =
  | "late"
  | "unreachable"
  | "status"
  | "refused"
  | "too_large"
  | "malformed"
  | "unsupported"
  | "resting";

interface StoreErrorOptions extends ErrorOptions {
  /** True for a transient failure: the same request can succeed at once. @default false */
  readonly isPassing?: boolean;
}

/** The failure of one store. Its message is for the log, never for a caller. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly kind: StoreErrorKind;
  readonly isPassing: boolean;

  constructor(kind: StoreErrorKind, message: string, { isPassing = false, ...options }: StoreErrorOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.isPassing = isPassing;
  }
}

/** True for a failure of the store itself. A refused query or a too large response does not concern its health. */
export function isStoresFault({ kind }: StoreError): boolean {
  return kind === "late" || kind === "unreachable" || kind === "status" || kind === "malformed";
}
