/** Status of a condition, as Kubernetes spells it. */
export type ConditionStatus = "True" | "False" | "Unknown";

/** A reason of a condition: its status and its meaning in one sentence. */
interface ReasonRow {
  readonly status: ConditionStatus;
  readonly meaning: string;
}

const trueReason = (meaning: string): ReasonRow => ({ status: "True", meaning });
const falseReason = (meaning: string): ReasonRow => ({ status: "False", meaning });
const unknownReason = (meaning: string): ReasonRow => ({ status: "Unknown", meaning });

const accepted = {
  Accepted: trueReason("The object is valid and permitted, and conflicts with no other."),
  Invalid: falseReason("A field breaks the schema or a rule of the kind."),
  NotPermitted: falseReason("The installation's policy does not let the namespace name this."),
  Conflicted: falseReason("An older object has the same name, metric, client, scope or class."),
  SharedSigningKey: falseReason("An older partner signs with the same key bytes."),
  Pending: unknownReason("The operator has not evaluated the object yet."),
};

const resolvedRefs = {
  ResolvedRefs: trueReason("Every reference of the object resolves."),
  NotChecked: falseReason("The object is invalid or not permitted, so no reference was resolved."),
  SecretNotFound: falseReason("A Secret that the object names is not in its namespace."),
  SecretNotReadable: falseReason("A Secret that the object names exists but cannot be read."),
  SecretKeyMissing: falseReason("A Secret lacks the entry that the object names."),
  KeyTooShort: falseReason("A signing key has fewer than 32 bytes."),
  KeyUnusable: falseReason("A signing key has a type that the signing scheme does not support."),
  CredentialInvalid: falseReason("A user name, password or token in a Secret cannot be sent."),
  CertificateInvalid: falseReason("A Secret holds no usable certificate or key."),
  Pending: unknownReason("The operator has not evaluated the object yet."),
};

const programmed = {
  Programmed: trueReason("Every ready pod has applied this generation."),
  NotInForce: falseReason("The object is not accepted or a reference does not resolve, so it is not published."),
  Held: falseReason("Deliveries to the partner are held; they are sent when the hold ends."),
  ConfigTooLarge: falseReason("The object's shard of the configuration is full."),
  PartiallyApplied: falseReason("Some ready pods have not applied this generation; the message names them."),
  NoReadyPods: falseReason("No ready pod can apply the object."),
  RuntimeError: falseReason("A pod cannot apply this generation; the message gives the cause."),
  Pending: unknownReason("The object waits to be published or applied."),
};

const ready = {
  Ready: trueReason("The object is in force as written."),
  Paused: trueReason("The partner's state is Paused: its deliveries wait, and nothing is sent."),
  ReconcilePaused: trueReason("The annotation heliograph.dev/paused is set; the version published last is in force."),
  UsingLastGood: falseReason("A reference cannot be read, so the last good version stays in force."),
  NothingPublished: falseReason("The annotation heliograph.dev/paused is set, and no version was published."),
  PartnerDisabled: falseReason("The partner answered 410, so nothing is sent until its resource is edited."),
  Pending: unknownReason("The object waits to be evaluated, published or applied."),
  NoOperator: unknownReason("No operator has evaluated the object."),
};

const endpointVerified = {
  Verified: trueReason("The endpoint answered the validation and accepts deliveries."),
  ConsentRefused: falseReason(
    "The endpoint answered the validation and refuses deliveries; the message has its answer.",
  ),
  ConsentUnanswered: falseReason("The endpoint did not answer the validation; the message gives the cause."),
};

const signingKeysUnambiguous = {
  UnprefixedKey: falseReason(
    "A key of Standard Webhooks is base64 without whsec_: recipients may decode what signs as it is.",
  ),
};

const namespaceWatched = {
  NamespaceUnavailable: falseReason(
    "The operator cannot list the object's namespace: it sees no edit, and the last known version stays in force.",
  ),
};

export type AcceptedReason = Exclude<keyof typeof accepted, "Pending">;
export type ResolvedRefsReason = Exclude<keyof typeof resolvedRefs, "Pending">;
export type ProgrammedReason = keyof typeof programmed;
export type EndpointVerifiedReason = keyof typeof endpointVerified;

/**
 * Every condition and reason of its own. `Ready` that is not True for one of these has the reason of the first
 * condition that is at fault; `Reconciling` and `Stalled` always have the reason of `Ready`. `docs/resources.md` holds
 * the same table; a test compares them.
 */
export const reasons = {
  Accepted: accepted,
  ResolvedRefs: resolvedRefs,
  Programmed: programmed,
  Ready: ready,
  EndpointVerified: endpointVerified,
  SigningKeysUnambiguous: signingKeysUnambiguous,
  NamespaceWatched: namespaceWatched,
} as const;
