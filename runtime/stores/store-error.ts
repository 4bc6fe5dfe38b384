/**
 * Why a store gave no answer:
 *
 * | Kind | Means |
 * | --- | --- |
 * | `late` | the deadline passed first |
 * | `unreachable` | no connection, or it broke |
 * | `status` | an HTTP status that is no answer of a query API |
 * | `refused` | the store refused or gave up the query |
 * | `too_large` | more bytes or series than are accepted |
 * | `malformed` | bytes that are no answer of a query API |
 * | `unsupported` | the store cannot answer this kind of query exactly |
 */
export type StoreErrorKind =
  | "late"
  | "unreachable"
  | "status"
  | "refused"
  | "too_large"
  | "malformed"
  | "unsupported";

/** One store failed. Its message is for the log, never for a caller. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.kind = kind;
  }
}
