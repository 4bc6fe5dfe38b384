import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { resolveTool } from "../../tools/resolve.ts";
import { withLock } from "../../tools/lock.ts";
import type { RunOptions, RunResult } from "../../tools/run.ts";
import type { Cluster, ClusterProvider, Forward, Progress, ServicePort } from "../cluster.ts";
import { buildWithBuildah } from "../images.ts";
import { importImages } from "./containerd.ts";
import { listenLocally, startForwarder } from "./forward.ts";
import { type Layout, nodeLayout } from "./layout.ts";
import { logPath, runInNode } from "./namespaces.ts";
import { clusterDomain } from "./network.ts";
import { isAlive, type ProcessIdentity } from "./process-identity.ts";
import { readRecord } from "./record.ts";
import { kubectlOf, prepareNode, startNode } from "./start.ts";
import { stopNode } from "./stop.ts";

/** A cluster of one node in namespaces of this machine. */
export interface NodeCluster extends Cluster {
  /** The process whose end is the node's end. */
  readonly init: ProcessIdentity;
  /** Runs a command of this machine in the node's network, where addresses of services and pods can be called. */
  inCluster(command: readonly string[], options: RunOptions): Promise<RunResult>;
}

/** A provider whose clusters have more to offer than the others'. */
interface NodeProvider extends ClusterProvider {
  up(progress: Progress, signal?: AbortSignal): Promise<NodeCluster>;
}

const lockWaitMs = 10 * 60_000;

/**
 * The cluster for machines without Docker: real Kubernetes on real Linux, with nothing installed and nothing left
 * behind.
 */
export function nodeProvider(layout: Layout = nodeLayout()): NodeProvider {
  return {
    up: (progress, signal) =>
      alone(layout, progress, () => up(layout, progress, signal ?? new AbortController().signal)),
    down: (progress) =>
      alone(layout, progress, async () => {
        progress("ending the node");
        await stopNode(layout);
      }),
  };
}

async function up(layout: Layout, progress: Progress, signal: AbortSignal): Promise<NodeCluster> {
  const running = await runningCluster(layout, progress);
  if (running !== undefined) return running;
  const parts = await prepareNode(layout, progress);
  await stopNode(layout);
  try {
    signal.throwIfAborted();
    await startNode({ layout, parts, progress, signal });
    const started = await runningCluster(layout, progress);
    if (started === undefined) throw new Error("the node ended as soon as it was ready");
    return started;
  } catch (error) {
    await stopNode(layout);
    throw error;
  }
}

/** The cluster of a layout, if it runs and its API server answers. */
async function runningCluster(layout: Layout, progress: Progress): Promise<NodeCluster | undefined> {
  const record = readRecord(layout);
  if (record?.init === undefined || !record.ready || !isAlive(record.init)) return undefined;
  const { init } = record;
  const kubectl = kubectlOf(await resolveTool("kubectl"), layout);
  const { code } = await kubectl(["get", "--raw=/readyz"]);
  if (code !== 0) return undefined;
  return {
    init,
    kubeconfig: layout.kubeconfig,
    kubectl,
    buildImage: (request) => buildWithBuildah(request, progress),
    loadImage: async (archive) => {
      const imported = await importImages(init.pid, layout, archive);
      if (imported.code !== 0) throw new Error(`containerd did not take ${archive}: ${imported.stderr.trim()}`);
    },
    forward: (to) => forwardTo(init, layout, to),
    inCluster: (command, options) => runInNode(init.pid, "network", command, options),
  };
}

async function forwardTo(init: ProcessIdentity, layout: Layout, to: ServicePort): Promise<Forward> {
  const { server, port } = await listenLocally();
  const host = `${to.service}.${to.namespace}.svc.${clusterDomain}`;
  const log = logPath(layout.logs, "forwarder");
  const close = await startForwarder(server, {
    initPid: init.pid,
    host,
    port: to.port,
    lifetime: "starter",
    env: process.env,
    log,
  });
  return { url: `http://127.0.0.1:${port}`, close };
}

async function alone<T>(layout: Layout, progress: Progress, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(layout.lock), { recursive: true });
  let isReported = false;
  const onWait = (pid: number): void => {
    if (!isReported) progress(`process ${pid} is starting or ending the node; waiting for it`);
    isReported = true;
  };
  return withLock(layout.lock, { waitMs: lockWaitMs, onWait }, work);
}
