// The messages between the supervisor of a pod and its processes. They pass as structured clones.
import type { PartHealth } from "../http/server/admin-server.ts";
import type { ConfigReport } from "../http/server/configz.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import type { SiblingFrame } from "../pods/siblings.ts";
import type { StartFault } from "../program/start-error.ts";
import type { ProcessMetrics } from "../tracing/open-metrics.ts";

/** The first message to a process. */
export interface StartMessage {
  readonly kind: "start";
  /** From 1. */
  readonly index: number;
  /** Names of all processes of the pod, in the order of their indexes. */
  readonly names: readonly string[];
  readonly adminUrl: string;
  /** Port of both APIs, never 0: a process that starts again opens the same one. */
  readonly port: number;
}

export type ToProcess =
  | StartMessage
  /** The nats-server of the supervisor runs. */
  | { readonly kind: "nats"; readonly access: NatsAccess }
  /** Names of the processes that serve. */
  | { readonly kind: "live"; readonly names: readonly string[] }
  | { readonly kind: "metrics"; readonly id: number }
  /** Drain and end. */
  | { readonly kind: "stop"; readonly drainMs: number }
  | { readonly kind: "sibling"; readonly from: string; readonly frame: SiblingFrame };

/** State of a process. */
export interface ProcessStatus {
  readonly parts: readonly PartHealth[];
  /** Absent when it equals the one before. */
  readonly report?: ConfigReport;
  /** The token of `/configz`. */
  readonly token: string | undefined;
}

/** The first state in which a process serves. */
export interface ReadyMessage {
  readonly kind: "ready";
  readonly url: string;
  readonly natsUrl: string;
  readonly configHash: string;
}

export type FromProcess =
  | ({ readonly kind: "status" } & ProcessStatus)
  | ReadyMessage
  /** The start failed; the process ends. */
  | { readonly kind: "failed"; readonly fault: StartFault | undefined; readonly message: string }
  | { readonly kind: "metrics"; readonly id: number; readonly metrics: ProcessMetrics }
  | { readonly kind: "sibling"; readonly to: string; readonly frame: SiblingFrame };
