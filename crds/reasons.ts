/** Status of a condition, as Kubernetes spells it. */
export type ConditionStatus = "True" | "False" | "Unknown";

/** Why a condition has its status, for people. */
interface ReasonRow {
  readonly status: ConditionStatus;
  readonly meaning: string;
}

type ReasonTable = Readonly<Record<string, ReasonRow>>;

const accepted = {
  Accepted: { status: "True", meaning: "The object is valid, permitted and in conflict with nothing." },
  Invalid: { status: "False", meaning: "A field breaks the schema or a rule of the kind." },
  NotPermitted: { status: "False", meaning: "The installation's policy does not let the namespace name this." },
  Conflicted: { status: "False", meaning: "An older object has the same name, metric, client, scope or class." },
  SharedSigningKey: { status: "False", meaning: "An older partner signs with the same key bytes." },
  Pending: { status: "Unknown", meaning: "The object was not looked at yet." },
} as const satisfies ReasonTable;

const resolvedRefs = {
  ResolvedRefs: { status: "True", meaning: "Everything that the object refers to is there." },
  NotChecked: { status: "False", meaning: "The object is invalid or not permitted, so nothing was looked up." },
  SecretNotFound: { status: "False", meaning: "A Secret that the object names is not in its namespace." },
  SecretNotReadable: { status: "False", meaning: "A Secret that the object names is there and cannot be read." },
  SecretKeyMissing: { status: "False", meaning: "A Secret lacks the entry that the object names." },
  KeyTooShort: { status: "False", meaning: "A signing key has fewer than 32 bytes." },
  KeyUnusable: { status: "False", meaning: "A signing key is of no kind that the signing scheme knows." },
  CredentialInvalid: { status: "False", meaning: "A user name, password or token in a Secret cannot be sent." },
  CertificateInvalid: { status: "False", meaning: "A Secret holds no certificates or key that can be used." },
  Pending: { status: "Unknown", meaning: "The object was not looked at yet." },
} as const satisfies ReasonTable;

const programmed = {
  Programmed: { status: "True", meaning: "Every ready pod obeys this generation." },
  NotInForce: {
    status: "False",
    meaning: "The object is not accepted or lacks a reference, so nothing of it is published.",
  },
  Held: {
    status: "False",
    meaning: "Nothing is sent to the partner; its events are kept until it can be sent to again.",
  },
  ConfigTooLarge: { status: "False", meaning: "There is no room left in the object's shard of the configuration." },
  PartiallyApplied: {
    status: "False",
    meaning: "Some ready pods do not obey this generation; the message names them.",
  },
  NoReadyPods: { status: "False", meaning: "There is no ready pod that could obey the object." },
  RuntimeError: { status: "False", meaning: "A pod cannot obey this generation; the message says why." },
  Pending: { status: "Unknown", meaning: "The object is about to be published or to be obeyed." },
} as const satisfies ReasonTable;

const ready = {
  Ready: { status: "True", meaning: "The object is in force as it is written." },
  Paused: { status: "True", meaning: "The partner's state is Paused: its deliveries wait, and nothing is sent." },
  ReconcilePaused: {
    status: "True",
    meaning: "The annotation heliograph.dev/paused is set; what was published last is in force.",
  },
  UsingLastGood: { status: "False", meaning: "A reference cannot be read, so the last good version stays in force." },
  NothingPublished: {
    status: "False",
    meaning: "The annotation heliograph.dev/paused is set, and nothing was ever published.",
  },
  PartnerDisabled: {
    status: "False",
    meaning: "The partner answered 410, so nothing is sent until its resource is edited.",
  },
  Pending: { status: "Unknown", meaning: "The object is about to be looked at, published or obeyed." },
  NoOperator: { status: "Unknown", meaning: "No operator has looked at the object." },
} as const satisfies ReasonTable;

const endpointVerified = {
  Verified: { status: "True", meaning: "The endpoint was asked and takes deliveries." },
  ConsentRefused: {
    status: "False",
    meaning: "The endpoint was asked and does not want deliveries; the message says what it answered.",
  },
  ConsentUnanswered: {
    status: "False",
    meaning: "The endpoint could not be asked whether it wants deliveries; the message says why.",
  },
} as const satisfies ReasonTable;

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
} as const;
