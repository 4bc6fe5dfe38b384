import { type KeyObject, generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { dirname, join } from "node:path";
import { resolveTool } from "../tools/resolve.ts";
import { freePort } from "./free-port.ts";
import { type KubectlResult, runKubectl } from "./kubectl.ts";
import { startServerProcess, type ServerProcess } from "./server-process.ts";
import { temporaryFolder } from "./temp-folder.ts";

/** A real Kubernetes API server with an etcd of its own; no node, no controllers. */
export interface KubeApiHandle {
  /** Path of a kubeconfig whose user is in `system:masters`. */
  readonly kubeconfig: string;
  readonly url: string;
  /** Path of the PEM file that proves the server's certificate. */
  readonly caPath: string;
  /** The last lines of the API server's log. */
  log(): string;
  /** Runs kubectl to its end; a failed command is a result, not an error. */
  kubectl(args: readonly string[], stdin?: string): Promise<KubectlResult>;
  /** Ends the API server alone, as an outage would; etcd keeps everything. */
  stopServer(): Promise<void>;
  /** Starts it again, on the same port. */
  startServer(): Promise<void>;
  /** Ends both servers and removes what they stored. */
  stop(): Promise<void>;
}

/** How a test's API server differs from the usual one. */
export interface KubeApiOptions {
  /** More flags for kube-apiserver. */
  readonly flags?: readonly string[];
}

const readyTimeoutMs = 60_000;
const requestMsMax = 2_000;
const startTriesMax = 3;
const tokenBytes = 16;
const keyBits = 2048;

/**
 * Starts etcd and kube-apiserver on 127.0.0.1 and resolves when `/readyz` is 200. Authorization is RBAC, service
 * accounts have an issuer, and the admin proves itself by a token. The API server makes its own serving certificate;
 * the file it writes holds the issuing certificate too, so that clients verify it as they would any other.
 *
 * @throws Error with the last lines of the log of whichever server does not come up
 */
export async function startKubeApi(options: KubeApiOptions = {}): Promise<KubeApiHandle> {
  const etcdPath = await resolveTool("etcd");
  const apiServerPath = await resolveTool("kube-apiserver");
  const kubectlPath = await kubectlFor(apiServerPath);
  const folder = await temporaryFolder("kube");
  const running: ServerProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const server of running.toReversed()) await server.stop();
    await folder.remove();
  };
  try {
    const etcd = await retriedOnTakenPort((port) => startEtcd(etcdPath, folder.path, port));
    running.push(etcd.server);
    const access = await writeAccess(folder.path);
    const start = (port: number): Promise<Listening> => {
      return startApiServer(
        apiServerPath,
        { folder: folder.path, etcdUrl: etcd.url, access, flags: options.flags ?? [] },
        port,
      );
    };
    let api = await retriedOnTakenPort(start);
    running.push(api.server);
    const kubeconfig = join(folder.path, "kubeconfig");
    await writeFile(kubeconfig, kubeconfigText(api.url, access));
    return {
      kubeconfig,
      url: api.url,
      caPath: access.caPath,
      log: () => api.server.log(),
      stopServer: () => api.server.stop(),
      startServer: async () => {
        api = await start(Number(new URL(api.url).port));
        running.push(api.server);
      },
      kubectl: (args, stdin) => runKubectl(kubectlPath, kubeconfig, args, stdin),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The kubectl beside the API server, which is of its version, before any other. */
async function kubectlFor(apiServerPath: string): Promise<string> {
  const beside = join(dirname(apiServerPath), "kubectl");
  return existsSync(beside) ? beside : resolveTool("kubectl");
}

interface Access {
  readonly token: string;
  readonly tokensPath: string;
  readonly certificatesDir: string;
  readonly caPath: string;
  readonly serviceAccountKeyPath: string;
}

interface ApiServerPlan {
  readonly folder: string;
  readonly etcdUrl: string;
  readonly access: Access;
  readonly flags: readonly string[];
}

interface Listening {
  readonly server: ServerProcess;
  readonly url: string;
}

async function startEtcd(command: string, folder: string, port: number): Promise<Listening> {
  const url = `http://127.0.0.1:${port}`;
  const args = [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    "--listen-peer-urls=http://127.0.0.1:0",
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
  const healthy = async (): Promise<boolean> => {
    return (await fetch(`${url}/health`, { signal: AbortSignal.timeout(requestMsMax) })).ok;
  };
  return { url, server: await startServerProcess({ name: "etcd", command, args, ready: healthy }) };
}

async function startApiServer(command: string, plan: ApiServerPlan, port: number): Promise<Listening> {
  const { access } = plan;
  const url = `https://127.0.0.1:${port}`;
  const args = [
    `--etcd-servers=${plan.etcdUrl}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${access.certificatesDir}`,
    `--token-auth-file=${access.tokensPath}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${access.serviceAccountKeyPath}`,
    `--service-account-signing-key-file=${access.serviceAccountKeyPath}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    // Loopback is no address for the Endpoints of the service `kubernetes`.
    "--endpoint-reconciler-type=none",
    // Nothing here makes the default service account that this plugin wants for pods.
    "--disable-admission-plugins=ServiceAccount",
    ...plan.flags,
  ];
  const ready = async (): Promise<boolean> => (await statusOf(`${url}/readyz`, access)) === 200;
  return { url, server: await startServerProcess({ name: "kube-apiserver", command, args, ready, readyTimeoutMs }) };
}

async function writeAccess(folder: string): Promise<Access> {
  const token = randomBytes(tokenBytes).toString("hex");
  const tokensPath = join(folder, "tokens.csv");
  await writeFile(tokensPath, `${token},admin,admin,"system:masters"\n`);
  const serviceAccountKeyPath = join(folder, "service-account.key");
  await writeFile(serviceAccountKeyPath, pem(generateKeyPairSync("rsa", { modulusLength: keyBits }).privateKey));
  const certificatesDir = join(folder, "certificates");
  return { token, tokensPath, certificatesDir, caPath: join(certificatesDir, "apiserver.crt"), serviceAccountKeyPath };
}

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

async function statusOf(url: string, access: Access): Promise<number | undefined> {
  const agent = new Agent({ ca: await readFile(access.caPath), keepAlive: false });
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = { authorization: `Bearer ${access.token}` };
  const asked = request(url, { agent, headers, timeout: requestMsMax }, (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  asked.on("error", reject).on("timeout", () => asked.destroy(new Error("no answer in time")));
  asked.end();
  return promise;
}

function kubeconfigText(url: string, access: Access): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority": access.caPath } }],
    users: [{ name: "admin", user: { token: access.token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin", namespace: "default" } }],
    "current-context": "test",
  });
}

/** Somebody else can take a free port before the server does; another one is tried then. */
async function retriedOnTakenPort(start: (port: number) => Promise<Listening>): Promise<Listening> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      const portWasTaken = String(error).includes("address already in use");
      if (!portWasTaken || tries >= startTriesMax) throw error;
    }
  }
}
