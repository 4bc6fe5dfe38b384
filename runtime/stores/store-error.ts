/**
 * The reason for which a store gave no data:
 *
 * | Kind | Means |
 * | --- | --- |
 * | `late` | the deadline passed first |
 * | `unreachable` | there was no connection, or it broke |
 * | `status` | the HTTP status is not one of a query API |
 * | `refused` | the store rejected or gave up the query |
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
  /** True for a late store that accepted no connection in its full time. @default false */
  readonly isUnconnected?: boolean;
  /** What callers may see: the setting of the store that makes its responses unusable. @default nothing */
  readonly publicDetail?: string;
  /** Milliseconds until the store gets a request again. @default unknown */
  readonly restMs?: number;
}

/** The failure of one store. Its message is for the log, never for a caller; callers see `publicDetail`. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly kind: StoreErrorKind;
  readonly isPassing: boolean;
  readonly isUnconnected: boolean;
  readonly publicDetail: string | undefined;
  readonly restMs: number | undefined;

  constructor(
    kind: StoreErrorKind,
    message: string,
    { isPassing = false, isUnconnected = false, publicDetail, restMs, ...options }: StoreErrorOptions = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.isPassing = isPassing;
    this.isUnconnected = isUnconnected;
    this.publicDetail = publicDetail;
    this.restMs = restMs;
  }
}

/**
 * True for a failure of the store itself. A rejected query or a too large response does not concern its health.
 *
 * @param wasSilent set if the store left a request without a response for its full time. Otherwise a late read had too
 *   little time, or the store was busy
 */
export function isStoresFault({ kind, isUnconnected }: StoreError, wasSilent: boolean): boolean {
  if (kind === "late") return wasSilent || isUnconnected;
  return kind === "unreachable" || kind === "status" || kind === "malformed";
}
