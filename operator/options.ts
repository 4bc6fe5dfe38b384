import type { Logger } from "pino";
import type { ShardCounts } from "../crds/shards/shards.ts";
import type { StatusTimes } from "./controllers/status-decision.ts";
import type { WatchedNamespaces } from "./inventory/watched-set.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Clock } from "../limits/clock.ts";
import type { ClusterAccess } from "../kube/client/credentials.ts";
import type { RolloutTimes } from "./observe/rollout.ts";
import type { OwnedRules } from "./rules/decide-rule.ts";

/** Source of the runtime's pods. */
export type RuntimePods =
  /** The ready endpoints of a Service in the operator's namespace, at its port of that name. */
  | { readonly service: string; readonly portName: string }
  /** A fixed list; each pod is always ready. */
  | { readonly urls: readonly string[] };

/** Times of the Lease; see `LeaderElectionOptions`. */
export interface LeaseTimes {
  readonly leaseMs: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
  readonly callTimeoutMs: number;
}

export interface OperatorOptions {
  readonly access: ClusterAccess;
  /** Namespace of the installation: its Lease, its shards, the runtime's Service. */
  readonly namespace: string;
  /** Namespaces of its resources and their Secrets. */
  readonly watched: WatchedNamespaces;
  /** Resources without these labels belong to another installation. @default every resource */
  readonly selector?: string;
  readonly runtime: RuntimePods;
  /** Path of the installation's policy. @default everything is granted */
  readonly policyFile?: string;
  /** ConfigMap that is mounted as the policy's file; watched, because a mount changes late. @default none */
  readonly policyConfigMap?: string;
  /** Alert rules that the leader writes. @default none */
  readonly rules?: OwnedRules;
  /** First part of the names of the shards' Secrets and of the Lease. */
  readonly prefix: string;
  readonly counts: ShardCounts;
  readonly lease: LeaseTimes;
  /** Identity of this replica, unique over all replicas and restarts. */
  readonly identity: string;
  /** Address of probes and metrics. @default every address */
  readonly host?: string;
  /** Longest use of a last good version while references cannot be read. @default seven days */
  readonly lastGoodMs?: number;
  /** Port of probes and metrics; 0 picks a free one. */
  readonly metricsPort: number;
  /** Concurrent reconciles of each kind. @default 16 */
  readonly workers?: number;
  readonly log: Logger;
  /** @default the machine's */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
  /** @default 300 ms */
  readonly coalesceMs?: number;
  /** @default the defaults of rollouts and statuses */
  readonly times?: RolloutTimes & StatusTimes;
  /** Bytes of a gzipped shard. @default 900 KiB */
  readonly shardBytesMax?: number;
  /** Wraps the client of the API server. @default no wrapper */
  readonly wrapClient?: (client: KubeClient) => KubeClient;
}
