import { readFileSync } from "node:fs";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { connectNats } from "../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { createPodMessages } from "../../../runtime/nats/messages/pod-messages.ts";
import { watchCrashPoints, type CrashPoint } from "./crash-points.ts";
import { startEngine, streamsOf } from "./engine-fixture.ts";

/**
 * What a worker process is told when it starts, as JSON in its first argument, or in the file that it names after `@`.
 */
export interface WorkerOrder {
  readonly url: string;
  readonly prefix: string;
  readonly podId: string;
  readonly config: RuntimeConfig;
  /** True when it answers the requests of other pods. @default false */
  readonly hasPeers?: boolean;
  /** Copies of each stream. @default 1 */
  readonly replicas?: number;
  /**
   * Where the process kills itself, as a crash would: at this point of this event (or of any), the n-th time. @default
   * never
   */
  readonly fault?: { readonly point: CrashPoint; readonly eventId?: string; readonly count: number };
}

/** An engine in a process of its own, for tests that kill it. It says `ready` to its parent. */
const { url, prefix, podId, config, hasPeers, replicas, fault } = JSON.parse(
  orderText(process.argv[2] ?? ""),
) as WorkerOrder;
let left = fault?.count ?? 0;

function reach(point: CrashPoint, eventId: string): void {
  if (point === fault?.point && (fault.eventId ?? eventId) === eventId) {
    left -= 1;
    if (left === 0) process.kill(process.pid, "SIGKILL");
  }
}

const layout = createLayout(prefix);
const peers =
  hasPeers === true ? { peers: createPodMessages(await connectNats({ servers: [url] }), layout, podId) } : {};
const watched = fault === undefined ? {} : watchCrashPoints(await connectNats({ servers: [url] }), layout, reach);
await startEngine(url, config, {
  settings: streamsOf(prefix, undefined, replicas),
  podId,
  ...watched,
  ...peers,
});
process.send?.("ready");

/** An order for thousands of partners is longer than an argument may be. */
function orderText(argument: string): string {
  return argument.startsWith("@") ? readFileSync(argument.slice(1), "utf8") : argument;
}
