// Starts a pod of several processes. The parts of one process are in `program/`.
import { once } from "node:events";
import { createServer } from "node:net";
import type { Logger } from "pino";
import { createAdminServer } from "../http/server/admin-server.ts";
import { availableHost, listenServer, stopServer } from "../http/server/listen-server.ts";
import { createRequestMetrics } from "../http/server/request-log.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import { memberId, type TracingOptions } from "../program/program-plan.ts";
import type { Program } from "../program/program.ts";
import { Shutdown, startOrClose } from "../program/shutdown.ts";
import { startStep } from "../program/start-error.ts";
import { podKey } from "../webhooks/workers/lane-ownership.ts";
import { PodState } from "./pod-state.ts";
import { ProcessGroup } from "./process-group.ts";

/** What a pod has once, whatever the number of its processes. */
export interface PodPlan {
  /** Name of the pod in its reports. */
  readonly pod: string;
  /** Unique among the pods; the ids of its processes begin with it. */
  readonly podId: string;
  /** Time for which requests are still answered after the stop request, while `/readyz` answers 503. */
  readonly unreadyMs: number;
  /** Starts the nats-server of the pod. @default the processes use a NATS elsewhere */
  readonly embeddedNats?: (shutdown: Shutdown) => Promise<NatsAccess>;
}

interface PodOptions {
  readonly processes: number;
  readonly host: string;
  readonly port: number;
  readonly adminPort: number;
  readonly tracing?: TracingOptions | undefined;
  readonly log: Logger;
  /** Acquires what a pod has once: locks, folders. @throws StartError */
  readonly open: (shutdown: Shutdown) => Promise<PodPlan>;
}

/**
 * Starts the processes of a pod and resolves when the first one serves. It starts an ended process again.
 * @returns undefined when `stopping` was aborted before
 * @throws StartError of the pod, or of its first process
 */
export async function startPod(options: PodOptions, stopping: AbortSignal): Promise<Program | undefined> {
  return startOrClose(options.log, stopping, (shutdown) => startParts(options, shutdown, stopping));
}

async function startParts(options: PodOptions, shutdown: Shutdown, stopping: AbortSignal): Promise<Program> {
  const { processes, host, log } = options;
  const plan = await options.open(shutdown);
  const names = Array.from({ length: processes }, (_, place) => podKey(memberId(plan.podId, { index: place + 1 })));
  const state = new PodState(plan.pod);
  const adminUrl = await serveAdmin(options, state, shutdown);
  const natsShutdown = new Shutdown(log);
  const nats = plan.embeddedNats?.(natsShutdown);
  shutdown.add("nats-server", async (remainingMs) => {
    await nats?.catch(() => undefined);
    await natsShutdown.run(remainingMs);
  });
  const group = new ProcessGroup({
    names,
    adminUrl,
    port: options.port === 0 ? await freePort(host) : options.port,
    log,
    onChange: () => state.changed(),
    onEnd: (index) => state.processEnded(index),
  });
  state.processes = group.processes;
  shutdown.add("processes", (remainingMs) => group.stop(remainingMs, plan.unreadyMs + remainingMs));
  const ready = await untilReady(group, nats, stopping);
  const stop = async (drainMs: number): Promise<void> => {
    state.isDraining = true;
    state.changed();
    await shutdown.run(drainMs);
  };
  const { url, natsUrl, configHash } = ready;
  return { url, adminUrl, natsUrl, configHash, processes, stop };
}

/** A port that is free now. The processes could each pick another one. @throws StartError `port` */
function freePort(host: string): Promise<number> {
  return startStep("port", "the port cannot be opened", async () => {
    const server = createServer().listen(0, await availableHost(host));
    await once(server, "listening");
    const address = server.address();
    server.close();
    await once(server, "close");
    return typeof address === "object" && address !== null ? address.port : 0;
  });
}

async function untilReady(group: ProcessGroup, nats: Promise<NatsAccess> | undefined, stopping: AbortSignal) {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(stopping.reason);
  stopping.addEventListener("abort", abort, { once: true });
  if (stopping.aborted) abort();
  try {
    const access = await Promise.race([nats, group.ready().then(() => undefined), aborted.promise]);
    if (access !== undefined) group.setNats(access);
    return await Promise.race([group.ready(), aborted.promise]);
  } finally {
    stopping.removeEventListener("abort", abort);
  }
}

async function serveAdmin(options: PodOptions, state: PodState, shutdown: Shutdown): Promise<string> {
  const { host, adminPort, log, tracing } = options;
  const app = createAdminServer({
    log: log.child({ server: "admin" }, { level: "warn" }),
    observe: createRequestMetrics(state.registry),
    registry: state.metrics,
    openMetrics: tracing && (() => state.metrics.openMetrics()),
    health: () => state.health().parts,
    isReady: () => state.health().isReady,
    config: state,
  });
  shutdown.add("admin server", (remainingMs) => stopServer(app, remainingMs));
  return startStep("port", "the admin port cannot be opened", () => listenServer(app, host, adminPort));
}
