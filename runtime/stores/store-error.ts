/**
 * Why a store gave no answer:
 *
 * | Kind | Means |
 * | --- | --- |
 * | `late` | the deadline passed first |
 * | `unreachable` | no connection, or it broke |
 * | `status` | an HTTP status that is no answer of a query API |
 * | `refused` | the store refused or gave up the query |
 * | `too_large` | more bytes than one query may read |
 * | `malformed` | bytes that are no answer of a query API |
 * | `unsupported` | the store cannot answer this kind of query exactly |
 * | `resting` | the store failed too often just now and was not asked |
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
  /** Whether the same request may well succeed at once. @default false */
  readonly isPassing?: boolean;
}

/** One store failed. Its message is for the log, never for a caller. */
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

/** A query that a store refuses, or an answer that is too large, says nothing about the store's health. */
export function isStoresFault({ kind }: StoreError): boolean {
  return kind === "late" || kind === "unreachable" || kind === "status" || kind === "malformed";
}
