import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatorCluster, counts } from "../operator/operator-cluster.ts";
import { freePort } from "../support/free-port.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { makeIssuer, signToken } from "../support/tokens.ts";
import { preparePod, type Pod } from "./pods.ts";
import { eventTypes, type Undeclared } from "./contracts.ts";
import { namespaces, tenants, type Step, type WalkState } from "./walk.ts";

/** Namespace of the installation: its shards and its Lease. */
export const systemNamespace = "heliograph";

/** A time in which a server was away, Unix milliseconds. */
export interface Absence {
  readonly verb: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The product as it runs in a cluster: an API server, NATS, the operator's program and two runtime pods. */
export interface Installation {
  readonly cluster: OperatorCluster;
  readonly nats: NatsServerHandle;
  readonly pods: readonly Pod[];
  /** A token that may post events of every tenant and read all of their history. */
  readonly token: string;
  readonly absences: readonly Absence[];
  /** Puts the policy where the operator reads it. */
  writePolicy(granted: Granted): Promise<void>;
  /** Lets both pods read these settings, one after the other. `began` returns what is called when the pod has them. */
  setUndeclared(undeclared: Undeclared, began: (pod: number) => () => void): Promise<void>;
  /** Ends a server and starts it again. */
  restart(step: Extract<Step, { readonly pod: number }>): Promise<void>;
  operatorLog(): string;
  stop(): Promise<void>;
}

const operatorProgram = fileURLToPath(new URL("../../cli/operator/heliograph-operator.ts", import.meta.url));
const operatorReadyMs = 60_000;
const tokenSeconds = 6 * 3_600;
const lease = ["--lease-seconds=6", "--lease-renew-seconds=4", "--lease-retry-seconds=1"];

/** Starts every server; each is ready. */
export async function startInstallation(): Promise<Installation> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.toReversed()) await end();
  };
  try {
    return await startAll(stops, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(stops: (() => Promise<void>)[], stop: () => Promise<void>): Promise<Installation> {
  const folder = await temporaryFolder("seams");
  stops.push(() => folder.remove());
  const cluster = await OperatorCluster.start();
  stops.push(() => cluster.stop());
  for (const namespace of [systemNamespace, ...namespaces]) await cluster.run(["create", "namespace", namespace]);
  const nats = await startNatsServer();
  stops.push(() => nats.stop());
  const { token, writeSettings } = await prepareSettings(folder.path);
  const environment = podEnvironment(cluster, nats, folder.path);
  const pods = [await preparePod("pod-0", environment), await preparePod("pod-1", environment)];
  stops.push(async () => void (await Promise.all(pods.map((pod) => pod.end("SIGKILL")))));
  const policyPath = join(folder.path, "policy.json");
  const writePolicy = (granted: Granted): Promise<void> => swap(policyPath, policyText(granted));
  await writePolicy({ withdrawn: {}, catalogs: [] });
  const operator = await prepareOperator(cluster, pods, policyPath);
  stops.push(() => operator.end("SIGKILL"));
  await operator.start();
  await Promise.all(pods.map((pod) => pod.start()));
  const absences: Absence[] = [];
  const restart = async (step: Parameters<Installation["restart"]>[0]): Promise<void> => {
    const fromMs = Date.now();
    await restartServer(step, { cluster, nats, pods, operator });
    absences.push({ verb: step.verb, fromMs, toMs: Date.now() });
  };
  const setUndeclared: Installation["setUndeclared"] = async (undeclared, began) => {
    await writeSettings(undeclared);
    for (const pod of pods.keys()) {
      const settled = began(pod);
      await restart({ verb: "restart_pod", pod });
      settled();
    }
  };
  const operatorLog = (): string => operator.log();
  return { cluster, nats, pods, token, absences, writePolicy, setUndeclared, restart, operatorLog, stop };
}

interface Servers {
  readonly cluster: OperatorCluster;
  readonly nats: NatsServerHandle;
  readonly pods: readonly Pod[];
  readonly operator: OperatorProcess;
}

async function restartServer(
  { verb, pod: index }: Extract<Step, { readonly pod: number }>,
  servers: Servers,
): Promise<void> {
  const { cluster, nats, operator } = servers;
  const pod = servers.pods[index];
  const signal = verb.startsWith("kill_") ? "SIGKILL" : "SIGTERM";
  switch (verb) {
    case "kill_pod":
    case "restart_pod":
      await pod?.end(signal);
      return pod?.start();
    case "kill_operator":
    case "restart_operator":
      await operator.end(signal);
      return operator.start();
    case "kill_nats":
      await nats.kill9();
      return nats.restart();
    case "restart_api_server":
      await cluster.kube.stopServer();
      return cluster.kube.startServer();
    default:
      throw new Error(`unknown verb ${String(verb satisfies never)}`);
  }
}

function podEnvironment(
  cluster: OperatorCluster,
  nats: NatsServerHandle,
  folder: string,
): Readonly<Record<string, string>> {
  return {
    HELIOGRAPH_CONFIG: "kubernetes",
    HELIOGRAPH_NAMESPACE: systemNamespace,
    HELIOGRAPH_KUBECONFIG: cluster.kube.kubeconfig,
    HELIOGRAPH_SHARDS: String(counts.config),
    HELIOGRAPH_KEY_SHARDS: String(counts.keys),
    HELIOGRAPH_NATS: nats.url,
    HELIOGRAPH_SETTINGS: join(folder, "settings.json"),
    HELIOGRAPH_HOST: "127.0.0.1",
    HELIOGRAPH_UNREADY_SECONDS: "1",
    HELIOGRAPH_DRAIN_SECONDS: "5",
  };
}

/** Settings of the pods, which they read when they start. */
interface PodSettings {
  /** A token of their issuer. */
  readonly token: string;
  readonly writeSettings: (undeclared: Undeclared) => Promise<void>;
}

async function prepareSettings(folder: string): Promise<PodSettings> {
  const issuer = await makeIssuer("https://issuer.example");
  await writeFile(join(folder, "keys.json"), JSON.stringify({ keys: [issuer.publicJwk] }));
  const writeSettings = (undeclared: Undeclared): Promise<void> => {
    const settings = {
      issuers: [{ issuer: issuer.issuer, audiences: ["heliograph"], jwksFile: "keys.json" }],
      // What waits for a removed partner ends soon, so that the walk sees it end.
      delivery: { removedAfterSeconds: 3 },
      events: { undeclared },
    };
    return swap(join(folder, "settings.json"), JSON.stringify(settings));
  };
  await writeSettings("Accept");
  const scope = "events:write webhooks:read";
  const exp = Math.floor(Date.now() / 1000) + tokenSeconds;
  const claims = { iss: issuer.issuer, aud: "heliograph", sub: "walk", exp, scope, tenants: ["*"] };
  return { token: await signToken(issuer, claims), writeSettings };
}

/** What the policy depends on. */
type Granted = Pick<WalkState, "withdrawn" | "catalogs">;

function policyText({ withdrawn, catalogs }: Granted): string {
  const withheldIn = (namespace: string) =>
    catalogs.flatMap((one) => (one.namespace === namespace ? (one.withheld ?? []) : []));
  const grants = namespaces.map((namespace) => ({
    namespaces: [namespace],
    tenants: tenants.filter((tenant) => tenant !== withdrawn[namespace]),
    producers: ["*"],
    // Without the list, every type is granted.
    ...(withheldIn(namespace).length === 0
      ? {}
      : { eventTypes: eventTypes.filter((type) => !withheldIn(namespace).includes(type)) }),
    cidrs: ["127.0.0.0/8"],
    plaintext: true,
  }));
  return JSON.stringify({ grants });
}

/** The operator's program on a port of its own. */
interface OperatorProcess {
  start(): Promise<void>;
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  log(): string;
}

async function prepareOperator(
  cluster: OperatorCluster,
  pods: readonly Pod[],
  policyPath: string,
): Promise<OperatorProcess> {
  const port = await freePort();
  const flags = [
    `--namespace=${systemNamespace}`,
    `--watch-namespaces=${namespaces.join(",")}`,
    `--policy=${policyPath}`,
    "--host=127.0.0.1",
  ];
  const more = [
    `--metrics-port=${port}`,
    `--shards=${counts.config}`,
    `--key-shards=${counts.keys}`,
    "--identity=operator-0",
    ...lease,
  ];
  let server: ServerProcess | undefined;
  return {
    start: async () => {
      server = await startServerProcess({
        name: "heliograph-operator",
        command: process.execPath,
        args: [operatorProgram, ...flags, ...more, ...pods.map(({ adminUrl }) => `--runtime-url=${adminUrl}`)],
        env: { HELIOGRAPH_KUBECONFIG: cluster.kube.kubeconfig },
        ready: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200,
        readyTimeoutMs: operatorReadyMs,
      });
    },
    end: async (signal) => (signal === "SIGKILL" ? server?.kill9() : server?.stop()),
    log: () => server?.log() ?? "",
  };
}

/** Another file appears whole, as a mounted ConfigMap does. */
async function swap(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
