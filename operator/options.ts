import type { Logger } from "pino";
import type { ShardCounts } from "../crds/shards/shards.ts";
import type { StatusTimes } from "./controllers/status-decision.ts";
import type { WatchedNamespaces } from "./inventory/watched-set.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Clock } from "../kube/clock.ts";
import type { ClusterAccess } from "../kube/client/credentials.ts";
import type { RolloutTimes } from "./observe/rollout.ts";

/** Where the pods of the runtime are found. */
export type RuntimePods =
  /** The ready endpoints of a Service in the operator's namespace, at its port of that name. */
  | { readonly service: string; readonly portName: string }
  /** Listed by hand, for ever ready. */
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
  /** Where the installation is: its Lease, its shards, the runtime's Service. */
  readonly namespace: string;
  /** Where its resources and their Secrets are. */
  readonly watched: WatchedNamespaces;
  /** Resources without these labels belong to somebody else. @default every resource */
  readonly selector?: string;
  readonly runtime: RuntimePods;
  /** Path of the installation's policy. @default everything is granted */
  readonly policyFile?: string;
  /** First part of the names of the shards' Secrets and of the Lease. */
  readonly prefix: string;
  readonly counts: ShardCounts;
  readonly lease: LeaseTimes;
  /** Who this replica is; no other, nor an earlier one, has the same. */
  readonly identity: string;
  /** Address of probes and metrics. @default every address */
  readonly host?: string;
  /** For how long a last good version stands in for an object whose references cannot be read. @default seven days */
  readonly lastGoodMs?: number;
  /** Port of probes and metrics; 0 picks a free one. */
  readonly metricsPort: number;
  /** Resources of each kind looked at at once. @default 16 */
  readonly workers?: number;
  readonly log: Logger;
  /** @default the machine's */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
  /** @default 300 ms */
  readonly coalesceMs?: number;
  /** @default the defaults of roll-outs and statuses */
  readonly times?: RolloutTimes & StatusTimes;
  /** Bytes of a gzipped shard. @default 900 KiB */
  readonly shardBytesMax?: number;
  /** Stands between the operator and the API server. @default nothing */
  readonly wrapClient?: (client: KubeClient) => KubeClient;
}
