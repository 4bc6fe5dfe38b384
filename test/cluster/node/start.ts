import { runKubectl } from "../../support/kubectl.ts";
import { waitFor } from "../../support/wait.ts";
import { resolveTool } from "../../tools/resolve.ts";
import type { Progress } from "../cluster.ts";
import { pauseArchive } from "../images.ts";
import { nodePackages } from "../packages.ts";
import { writeConfiguration } from "./configuration.ts";
import { importImages } from "./containerd.ts";
import { writeCredentials } from "./credentials.ts";
import {
  type DaemonSpec,
  firstDaemons,
  laterDaemons,
  type NodePlan,
  type Programs,
  resolvePrograms,
} from "./daemons.ts";
import { logTail, nodeEnv, startEmptyNode } from "./empty-node.ts";
import { listenLocally, startForwarder } from "./forward.ts";
import type { Layout } from "./layout.ts";
import { type Daemon, logPath, runInNode, startDaemon } from "./namespaces.ts";
import { apiPort, nodeAddress, nodeHost, nodeName } from "./network.ts";
import { machineFacts, nodeProblems } from "./preflight.ts";
import { writeRecord } from "./record.ts";
import { createVolumes } from "./storage.ts";

const readyTimeoutMs = 60_000;
const pollMs = 100;
const dnsMsMax = 2_000;
const logLinesShown = 15;

/** What a node is started from; all of it is kept in the tools' cache. */
interface NodeParts {
  /** The folder of Debian's packages. */
  readonly packages: string;
  /** The archive of the pause image. */
  readonly pause: string;
  readonly programs: Programs;
  readonly kubectl: string;
}

/** Finds or makes what a node is started from. @throws Error with one sentence for each thing that is missing */
export async function prepareNode(layout: Layout, progress: Progress): Promise<NodeParts> {
  const problems = nodeProblems(machineFacts(layout));
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return {
    packages: await nodePackages(progress),
    pause: await pauseArchive(progress),
    programs: await resolvePrograms(),
    kubectl: await resolveTool("kubectl"),
  };
}

/** One start of a node. */
interface NodeStart {
  readonly layout: Layout;
  readonly parts: NodeParts;
  readonly progress: Progress;
  /** Ends the start with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Starts a node that is ready for pods. What it starts is on record from the first process on, so that `stopNode`
 * removes it also after a failure half way.
 *
 * @throws Error with the end of the log of the server that ended or did not answer
 */
export async function startNode(request: NodeStart): Promise<void> {
  const { layout, parts } = request;
  request.progress("making the node's namespaces");
  const record = await startEmptyNode(layout, parts.packages);
  const { server, port } = await listenLocally();
  const admin = { path: layout.kubeconfig, url: `https://127.0.0.1:${port}` };
  const credentials = await writeCredentials(layout.certificates, admin);
  const configuration = await writeConfiguration(layout, credentials);
  const initPid = record.init.pid;
  const log = logPath(layout.logs, "forwarder");
  await startForwarder(server, {
    initPid,
    host: nodeAddress,
    port: apiPort,
    lifetime: "node",
    env: nodeEnv(layout),
    log,
  });
  await startServers({ layout, programs: parts.programs, credentials, configuration }, request, initPid);
  writeRecord(layout, { ...record, ready: true });
}

async function startServers(plan: NodePlan, request: NodeStart, initPid: number): Promise<void> {
  const { layout, parts, progress } = request;
  const start = (spec: DaemonSpec): Daemon =>
    startDaemon(initPid, { ...spec, env: nodeEnv(layout), logs: layout.logs });
  const kubectl = kubectlOf(parts.kubectl, layout);

  progress("starting the API server and containerd");
  const first = firstDaemons(plan).map(start);
  await until("kube-apiserver", request, first, () => kubectl(["get", "--raw=/readyz"]));
  await until("containerd", request, first, () => importImages(initPid, layout, parts.pause));

  progress("starting the controllers and the kubelet");
  const all = [...first, ...laterDaemons(plan).map(start)];
  const volumes = await createVolumes(layout);
  await until("kube-apiserver", request, all, () => kubectl(["apply", "--filename=-"], volumes));
  await until("kube-controller-manager", request, all, () => kubectl(["get", "serviceaccount", "default"]));
  await until("coredns", request, all, () => askDns(initPid));
  await until("kubelet", request, all, () =>
    kubectl(["wait", "--for=condition=Ready", "--timeout=5s", `node/${nodeName}`]),
  );
}

/** kubectl for the admin; its cache of what the API offers is kept with the node. */
export function kubectlOf(
  command: string,
  layout: Layout,
): (args: readonly string[], stdin?: string) => ReturnType<typeof runKubectl> {
  return (args, stdin) =>
    runKubectl(command, layout.kubeconfig, [`--cache-dir=${layout.root}/kubectl`, ...args], stdin);
}

function askDns(initPid: number): Promise<{ readonly code: number; readonly stderr: string }> {
  const ask = ["busybox", "wget", "-q", "-O", "-", `http://${nodeHost}:8181/ready`];
  return runInNode(initPid, "node", ask, { timeoutMs: dnsMsMax });
}

/** Repeats a command until it succeeds; gives up at once when a server has ended. */
async function until(
  name: string,
  request: NodeStart,
  daemons: readonly Daemon[],
  attempt: () => Promise<{ readonly code: number; readonly stderr: string }>,
): Promise<void> {
  const ended = (): Daemon | undefined => daemons.find((daemon) => daemon.ended() !== undefined);
  const succeeded = async (): Promise<boolean> => {
    if (request.signal.aborted || ended() !== undefined) return true;
    const { code, stderr } = await attempt();
    if (code !== 0) throw new Error(stderr.trim());
    return true;
  };
  try {
    await waitFor(succeeded, { timeoutMs: readyTimeoutMs, pollMs, what: `an answer from ${name}` });
    if (ended() !== undefined) throw new Error(ended()?.ended());
  } catch (error) {
    const tail = logTail(request.layout, ended()?.name ?? name, logLinesShown);
    throw new Error(`${error instanceof Error ? error.message : String(error)}. The end of its log:\n${tail}`, {
      cause: error,
    });
  }
  request.signal.throwIfAborted();
}
