import type { EndpointVerifiedReason } from "./reasons.ts";
import type { Kind } from "./resource.ts";

/**
 * What one runtime pod answers on `GET /configz` of its admin port, to the bearer of the token that travels in the
 * configuration. With `?wait=SECONDS&after=VERSION` the answer comes when the report differs from that version, or
 * after so many seconds. The runtime writes it, the operator reads it.
 */
export interface ConfigzReport {
  /** Changes whenever anything else here does; means nothing else. */
  readonly version: string;
  /** Name of the pod. */
  readonly pod: string;
  /** Whether every shard was applied and the pod serves. */
  readonly ready: boolean;
  /** Of all that is obeyed: equal in pods that obey the same; null before anything is. */
  readonly hash: string | null;
  /** By shard name, without the prefix of the Secrets: `config-00`. A shard never seen is absent. */
  readonly shards: Readonly<Record<string, ConfigzShard>>;
  /** Resources that are not obeyed as the shards say. */
  readonly errors: readonly ConfigzError[];
  /** What the data plane decided about resources that are obeyed. */
  readonly marks: readonly ConfigzMark[];
}

/** The version of a shard that is obeyed. */
export interface ConfigzShard {
  readonly revision: number;
  readonly sha256: string;
  /** Why a newer one is not, in one sentence; absent when there is none. */
  readonly error?: string;
}

export interface ConfigzError {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** The generation that is not obeyed. */
  readonly generation: number;
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
}

/** That a partner answered 410; or what its endpoint said when it was asked for its consent. */
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

/** Longest `wait` of a long poll. */
export const configzWaitSecondsMax = 60;
