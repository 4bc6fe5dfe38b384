/** Kinds of faults of a field. */
export type FieldReason =
  | "Required"
  | "Unknown"
  | "WrongType"
  | "NotSupported"
  | "OutOfRange"
  | "Malformed"
  | "Duplicate"
  | "Invalid"
  | "NotPermitted"
  | "Conflicted"
  | "Incompatible"
  | "SharedSigningKey"
  | "SecretNotFound"
  | "SecretNotReadable"
  | "SecretKeyMissing"
  | "KeyTooShort"
  | "KeyUnusable"
  | "CredentialInvalid"
  | "CertificateInvalid";

/** One field that is at fault. */
export interface FieldProblem {
  /** Path of the field from the object's root: `spec.endpoint.url`, `spec.metrics[3].id`. */
  readonly field: string;
  readonly reason: FieldReason;
  /** One sentence without the path, in the API server's words where that evaluates the same rule. */
  readonly message: string;
}
