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
  Accepted: trueReason("The object is valid, permitted and does not conflict with other objects."),
  Invalid: falseReason("A field violates the schema or a rule of the kind."),
  NotPermitted: falseReason("The installation's policy does not allow this for the namespace."),
  Conflicted: falseReason(
    "An older object has the same name, metric, event type, client, scope or class, or all event catalogs would have " +
      "more than 1,000 versions.",
  ),
  Incompatible: falseReason("A schema changed within its version, so that producers or partners may break."),
  SharedSigningKey: falseReason("An older partner uses the same signing key."),
  Pending: unknownReason("The operator has not evaluated the object yet."),
};

const resolvedRefs = {
  ResolvedRefs: trueReason("All references of the object are resolved."),
  NotChecked: falseReason("The object is invalid or not permitted, so its references were not resolved."),
  SecretNotFound: falseReason("A Secret that the object references does not exist in its namespace."),
  SecretNotReadable: falseReason("A Secret that the object references exists but cannot be read."),
  SecretKeyMissing: falseReason("A Secret does not have the key that the object references."),
  KeyTooShort: falseReason("A signing key has fewer than 32 bytes."),
  KeyUnusable: falseReason("A signing key has a type that the signing scheme does not support."),
  CredentialInvalid: falseReason("A user name, password or token in a Secret contains characters that cannot be sent."),
  CertificateInvalid: falseReason("A Secret contains no valid certificate or key."),
  Pending: unknownReason("The operator has not evaluated the object yet."),
};

const programmed = {
  Programmed: trueReason("All ready pods have applied this generation."),
  NotInForce: falseReason("The object is not accepted or has unresolved references, so it is not published."),
  Held: falseReason("Deliveries to the partner are held and will be sent when the hold ends."),
  ConfigTooLarge: falseReason("The configuration shard of the object is full."),
  PartiallyApplied: falseReason("Some ready pods have not applied this generation; the message names them."),
  NoReadyPods: falseReason("No ready pod can apply the object."),
  RuntimeError: falseReason("A pod cannot apply this generation; see the message for the cause."),
  Pending: unknownReason("The object is waiting to be published or applied."),
};

const ready = {
  Ready: trueReason("The object is applied as written."),
  Paused: trueReason("The partner's state is Paused: deliveries are held and none are sent."),
  ReconcilePaused: trueReason(
    "The annotation heliograph.dev/paused is set; the last published version stays in force.",
  ),
  UsingLastGood: falseReason("A reference cannot be read, so the last good version stays in force."),
  NothingPublished: falseReason("The annotation heliograph.dev/paused is set, and no version has been published."),
  PartnerDisabled: falseReason(
    "The endpoint responded with 410, so deliveries are disabled until the resource is edited.",
  ),
  Pending: unknownReason("The object is waiting to be evaluated, published or applied."),
  NoOperator: unknownReason("No operator has evaluated the object."),
};

const endpointVerified = {
  Verified: trueReason("The endpoint responded to the validation request and accepts deliveries."),
  ConsentRefused: falseReason(
    "The endpoint responded to the validation request and rejects deliveries; the message contains its response.",
  ),
  ConsentUnanswered: falseReason(
    "The endpoint did not respond to the validation request; see the message for the cause.",
  ),
};

const signingKeysUnambiguous = {
  UnprefixedKey: falseReason(
    "A Standard Webhooks key is base64 without whsec_: recipients may decode it, but it signs as written.",
  ),
};

const typesResolved = {
  TypeNotDeclared: falseReason(
    "A pattern of a subscription matches no declared type, although an event catalog declares types of its domain.",
  ),
  ClassNotDeclared: falseReason(
    "No event catalog declares some fields any more that the partner excludes by their class; they stay excluded.",
  ),
};

const namespaceWatched = {
  NamespaceUnavailable: falseReason(
    "The operator cannot list the object's namespace: edits are not applied, and the last known version stays " +
      "in force.",
  ),
};

const observed = {
  MatchesStores: trueReason("The stores contain the series of all metrics, as the catalog declares them."),
  ForbiddenLabel: falseReason("Series of a metric have a label that is forbidden because it is personal data."),
  Mismatch: falseReason("Series of a metric are missing, or differ from what the catalog declares."),
  StoreUnavailable: unknownReason("A store does not respond, so its metrics cannot be compared."),
  NotChecked: unknownReason("All stores are peers, or require a tenant in each request, so they are not compared."),
};

const rulesWritten = {
  Written: trueReason("A PrometheusRule has the alert rules of the catalog's objectives."),
  Conflict: falseReason("A PrometheusRule of that name exists, and the catalog does not own it."),
  TenantRequired: falseReason("The rules need tenants, which the annotation heliograph.dev/rule-tenants names."),
  KindMissing: falseReason("The API server does not serve the kind PrometheusRule."),
  TooLarge: falseReason(
    "The rules have more than 512 KiB, the most that the Prometheus operator loads from an object.",
  ),
  WriteRejected: falseReason("The API server rejects the PrometheusRule; see the message for the cause."),
  Contested: falseReason(
    "Another program keeps changing the PrometheusRule; the operator repairs it ever more rarely.",
  ),
};

export type RulesWrittenReason = keyof typeof rulesWritten;
export type AcceptedReason = Exclude<keyof typeof accepted, "Pending">;
export type ResolvedRefsReason = Exclude<keyof typeof resolvedRefs, "Pending">;
export type ProgrammedReason = keyof typeof programmed;
export type ObservedReason = keyof typeof observed;
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
  TypesResolved: typesResolved,
  NamespaceWatched: namespaceWatched,
  Observed: observed,
  RulesWritten: rulesWritten,
} as const;
