/** Status of a condition, as Kubernetes spells it. */
export type ConditionStatus = "True" | "False" | "Unknown";

/** A reason of a condition: its status and its meaning in one sentence. */
interface ReasonRow {
  readonly status: ConditionStatus;
  readonly meaning: string;
}

type ReasonTable = Readonly<Record<string, ReasonRow>>;

const accepted = {
  Accepted: { status: "True", meaning: "The object is valid and permitted, and conflicts with no other." },
  Invalid: { status: "False", meaning: "A field breaks the schema or a rule of the kind." },
  NotPermitted: { status: "False", meaning: "The installation's policy does not let the namespace name this." },
  Conflicted: { status: "False", meaning: "An older object has the same name, metric, client, scope or class." },
  SharedSigningKey: { status: "False", meaning: "An older partner signs with the same key bytes." },
  Pending: { status: "Unknown", meaning: "The operator has not evaluated the object yet." },
} as const satisfies ReasonTable;

const resolvedRefs = {
  ResolvedRefs: { status: "True", meaning: "Every reference of the object resolves." },
  NotChecked: { status: "False", meaning: "The object is invalid or not permitted, so no reference was resolved." },
  SecretNotFound: { status: "False", meaning: "A Secret that the object names is not in its namespace." },
  SecretNotReadable: { status: "False", meaning: "A Secret that the object names exists but cannot be read." },
  SecretKeyMissing: { status: "False", meaning: "A Secret lacks the entry that the object names." },
  KeyTooShort: { status: "False", meaning: "A signing key has fewer than 32 bytes." },
  KeyUnusable: { status: "False", meaning: "A signing key has a type that the signing scheme does not support." },
  CredentialInvalid: { status: "False", meaning: "A user name, password or token in a Secret cannot be sent." },
  CertificateInvalid: { status: "False", meaning: "A Secret holds no usable certificate or key." },
  Pending: { status: "Unknown", meaning: "The operator has not evaluated the object yet." },
} as const satisfies ReasonTable;

const programmed = {
  Programmed: { status: "True", meaning: "Every ready pod has applied this generation." },
  NotInForce: {
    status: "False",
    meaning: "The object is not accepted or a reference does not resolve, so it is not published.",
  },
  Held: {
    status: "False",
    meaning: "Deliveries to the partner are held; they are sent when the hold ends.",
  },
  ConfigTooLarge: { status: "False", meaning: "The object's shard of the configuration is full." },
  PartiallyApplied: {
    status: "False",
    meaning: "Some ready pods have not applied this generation; the message names them.",
  },
  NoReadyPods: { status: "False", meaning: "No ready pod can apply the object." },
  RuntimeError: { status: "False", meaning: "A pod cannot apply this generation; the message gives the cause." },
  Pending: { status: "Unknown", meaning: "The object waits to be published or applied." },
} as const satisfies ReasonTable;

const ready = {
  Ready: { status: "True", meaning: "The object is in force as written." },
  Paused: { status: "True", meaning: "The partner's state is Paused: its deliveries wait, and nothing is sent." },
  ReconcilePaused: {
    status: "True",
    meaning: "The annotation heliograph.dev/paused is set; the version published last is in force.",
  },
  UsingLastGood: { status: "False", meaning: "A reference cannot be read, so the last good version stays in force." },
  NothingPublished: {
    status: "False",
    meaning: "The annotation heliograph.dev/paused is set, and no version was published.",
  },
  PartnerDisabled: {
    status: "False",
    meaning: "The partner answered 410, so nothing is sent until its resource is edited.",
  },
  Pending: { status: "Unknown", meaning: "The object waits to be evaluated, published or applied." },
  NoOperator: { status: "Unknown", meaning: "No operator has evaluated the object." },
} as const satisfies ReasonTable;

const endpointVerified = {
  Verified: { status: "True", meaning: "The endpoint answered the validation and accepts deliveries." },
  ConsentRefused: {
    status: "False",
    meaning: "The endpoint answered the validation and refuses deliveries; the message has its answer.",
  },
  ConsentUnanswered: {
    status: "False",
    meaning: "The endpoint did not answer the validation; the message gives the cause.",
  },
} as const satisfies ReasonTable;

const signingKeysUnambiguous = {
  UnprefixedKey: {
    status: "False",
    meaning: "A key of Standard Webhooks is base64 without whsec_: recipients may decode what signs as it is.",
  },
} as const satisfies ReasonTable;

const namespaceWatched = {
  NamespaceUnavailable: {
    status: "False",
    meaning:
      "The operator cannot list the object's namespace: it sees no edit, and the last known version stays in force.",
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
  SigningKeysUnambiguous: signingKeysUnambiguous,
  NamespaceWatched: namespaceWatched,
} as const;
