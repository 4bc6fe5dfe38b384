import { runKubectl } from "../../support/kubectl.ts";
import { waitFor } from "../../support/wait.ts";
import { resolveTool } from "../../tools/resolve.ts";
import type { Progress } from "../cluster.ts";
import { pauseArchive } from "../images.ts";
import { nodePackages } from "../packages.ts";
import { writeConfiguration } from "./configuration.ts";
import { importImages } from "./containerd.ts";
import { writeCredentials } from "./credentials.ts";
import { type DaemonSpec, firstDaemons, laterDaemons, type NodePlan, type Programs, resolvePrograms } from "./daemons.ts";
import { logTail, nodeEnv, startEmptyNode } from "./empty-node.ts";
import { listenLocally, startForwarder } from "./forward.ts";
import type { Layout } from "./layout.ts";
import { type Daemon, logPath, runInNode, startDaemon } from "./namespaces.ts";
import { apiPort, nodeAddress, nodeName } from "./network.ts";
import { machineFacts, nodeProblems } from "./preflight.ts";
import { writeRecord } from "./record.ts";
import { createVolumes } from "./storage.ts";

const readyTimeoutMs = 60_000;
const pollMs = 100;
const dnsMsMax = 2_000;
const logLinesShown = 15;

/** What a node is started from; all of it is kept in the tools' cache. */
export interface NodeParts {
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

/**
 * Starts a node that is ready for pods. What it starts is on record from the first process on, so that `stopNode` removes
 * it also after a failure half way.
 *
 * @throws Error with the end of the log of the server that ended or did not answer
 */
export async function startNode(layout: Layout, parts: NodeParts, progress: Progress): Promise<void> {
  progress("making the node's namespaces");
  const record = await startEmptyNode(layout, parts.packages);
  const { server, port } = await listenLocally();
  const admin = { path: layout.kubeconfig, url: `https://127.0.0.1:${port}` };
  const credentials = await writeCredentials(layout.certificates, admin);
  const plan = { layout, programs: parts.programs, credentials, configuration: await writeConfiguration(layout, credentials) };
  const initPid = record.init.pid;
  const log = logPath(layout.logs, "forwarder");
  await startForwarder(server, { initPid, host: nodeAddress, port: apiPort, lifetime: "node", env: nodeEnv(layout), log });
  await startServers(plan, parts, initPid, progress);
  writeRecord(layout, { ...record, ready: true });
}

async function startServers(plan: NodePlan, parts: NodeParts, initPid: number, progress: Progress): Promise<void> {
  const { layout } = plan;
  const start = (spec: DaemonSpec): Daemon => startDaemon(initPid, { ...spec, env: nodeEnv(layout), logs: layout.logs });
  const kubectl = (args: readonly string[], stdin?: string) => kubectlOf(parts.kubectl, layout)(args, stdin);

  progress("starting the API server and containerd");
  const first = firstDaemons(plan).map(start);
  await until("kube-apiserver", layout, first, () => kubectl(["get", "--raw=/readyz"]));
  await until("containerd", layout, first, () => importImages(initPid, layout, parts.pause));

  progress("starting the controllers and the kubelet");
  const all = [...first, ...laterDaemons(plan).map(start)];
  const volumes = await createVolumes(layout);
  await until("kube-apiserver", layout, all, () => kubectl(["apply", "--filename=-"], volumes));
  await until("kube-controller-manager", layout, all, () => kubectl(["get", "serviceaccount", "default"]));
  await until("coredns", layout, all, () => askDns(initPid));
  await until("kubelet", layout, all, () => kubectl(["wait", "--for=condition=Ready", "--timeout=5s", `node/${nodeName}`]));
}

/** kubectl for the admin; its cache of what the API offers is kept with the node. */
export function kubectlOf(command: string, layout: Layout): (args: readonly string[], stdin?: string) => ReturnType<typeof runKubectl> {
  return (args, stdin) => runKubectl(command, layout.kubeconfig, [`--cache-dir=${layout.root}/kubectl`, ...args], stdin);
}

function askDns(initPid: number): Promise<{ readonly code: number; readonly stderr: string }> {
  const ask = ["busybox", "wget", "-q", "-O", "-", `http://${nodeAddress}:8181/ready`];
  return runInNode(initPid, "node", ask, { timeoutMs: dnsMsMax });
}

/** Repeats a command until it succeeds; gives up at once when a server has ended. */
async function until(
  name: string,
  layout: Layout,
  daemons: readonly Daemon[],
  attempt: () => Promise<{ readonly code: number; readonly stderr: string }>,
): Promise<void> {
  let ended: Daemon | undefined;
  const succeeded = async (): Promise<boolean> => {
    ended = daemons.find((daemon) => daemon.ended() !== undefined);
    if (ended !== undefined) return true;
    const { code, stderr } = await attempt();
    if (code !== 0) throw new Error(stderr.trim());
    return true;
  };
  try {
    await waitFor(succeeded, { timeoutMs: readyTimeoutMs, pollMs, what: `an answer from ${name}` });
    if (ended !== undefined) throw new Error(ended.ended());
  } catch (error) {
    const tail = logTail(layout, ended?.name ?? name, logLinesShown);
    throw new Error(`${error instanceof Error ? error.message : String(error)}. The end of its log:\n${tail}`, { cause: error });
  }
}
