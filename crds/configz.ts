import type { ConditionStatus, EndpointVerifiedReason, ObservedReason } from "./reasons.ts";
import type { Kind } from "./resource.ts";

/**
 * Response of one runtime pod to `GET /configz` on its admin port. Readers send the token of the configuration. With
 * `?wait=SECONDS&after=VERSION` the response comes when the report differs from that version, or after so many seconds.
 * The runtime writes the report, the operator reads it.
 */
export interface ConfigzReport {
  /** Changes with every other member; it has no other meaning. */
  readonly version: string;
  /** Name of the pod. */
  readonly pod: string;
  /** True when every shard was applied and the pod serves. */
  readonly ready: boolean;
  /** Hash of the applied configuration: equal in pods that apply the same; null before the first. */
  readonly hash: string | null;
  /** By shard name, without the prefix of the Secrets: `config-00`. A shard that was never read is absent. */
  readonly shards: Readonly<Record<string, ConfigzShard>>;
  /** Resources that are not applied as the shards contain them. */
  readonly errors: readonly ConfigzError[];
  /** Marks of the data plane on applied resources. */
  readonly marks: readonly ConfigzMark[];
  /** Catalogs that this pod compared with their stores. @default another pod compares them */
  readonly observed?: readonly ConfigzObserved[];
}

/** The applied version of a shard. */
export interface ConfigzShard {
  readonly revision: number;
  readonly sha256: string;
  /** The fault of a newer version, in one sentence; absent when there is none. */
  readonly error?: string;
}

export interface ConfigzError {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** The generation that is not applied. */
  readonly generation: number;
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
}

/** A partner that responded with 410, or the result of an endpoint validation. */
export type ConfigzMarkReason = "PartnerDisabled" | EndpointVerifiedReason;

export interface ConfigzMark {
  readonly kind: "WebhookPartner";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The generation that is marked; an edit lifts the mark. */
  readonly generation: number;
  readonly reason: ConfigzMarkReason;
  readonly message: string;
  /** RFC 3339 in UTC. */
  readonly since: string;
}

/** `NotChecked`: this runtime cannot read the series of the metric's stores. */
export type CheckStatus = ConditionStatus | "NotChecked";

/** A metric compared with its stores. */
export interface CatalogCheck {
  readonly metric: string;
  readonly status: CheckStatus;
  /** The first check that failed. */
  readonly check?: string;
  /** What differs, without values of labels; empty for `True`. */
  readonly message: string;
}

/** A catalog compared with its stores. */
export interface ConfigzObserved {
  readonly kind: "MetricCatalog";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly status: ConditionStatus;
  readonly reason: ObservedReason;
  readonly message: string;
  /** The metrics that are not `True`. */
  readonly metrics: readonly CatalogCheck[];
}

/** Longest `wait` of a long poll. */
export const configzWaitSecondsMax = 60;
