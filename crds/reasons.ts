/** Why a condition has its status, for people. */
interface ReasonRow {
  readonly status: boolean;
  readonly meaning: string;
}

const accepted = {
  Accepted: { status: true, meaning: "The object is valid, permitted and in conflict with nothing." },
  Invalid: { status: false, meaning: "A field breaks the schema or a rule of the kind." },
  NotPermitted: { status: false, meaning: "The installation's policy does not let the namespace name this." },
  Conflicted: { status: false, meaning: "An older object has the same name, metric, client, scope or class." },
  SharedSigningKey: { status: false, meaning: "An older partner signs with the same key bytes." },
} as const satisfies Readonly<Record<string, ReasonRow>>;

const resolvedRefs = {
  ResolvedRefs: { status: true, meaning: "Everything that the object refers to is there." },
  NotChecked: { status: false, meaning: "The object is invalid or not permitted, so nothing was looked up." },
  SecretNotFound: { status: false, meaning: "A Secret that the object names is not in its namespace." },
  SecretNotReadable: { status: false, meaning: "A Secret that the object names is there and cannot be read." },
  SecretKeyMissing: { status: false, meaning: "A Secret lacks the entry that the object names." },
  KeyTooShort: { status: false, meaning: "A signing key has fewer than 32 bytes." },
} as const satisfies Readonly<Record<string, ReasonRow>>;

export type AcceptedReason = keyof typeof accepted;
export type ResolvedRefsReason = keyof typeof resolvedRefs;

/** Every condition and reason that `compile` decides. `docs/resources.md` holds the same table; a test compares them. */
export const reasons = { Accepted: accepted, ResolvedRefs: resolvedRefs } as const;
