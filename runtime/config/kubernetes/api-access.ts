import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import type { RequestOptions } from "node:https";
import { delimiter, dirname, join, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { parse as parseYaml } from "yaml";

/** How to reach the API server and what proves us to it, as the files say right now. */
export interface KubernetesCredentials {
  /** Scheme, host and port, without a slash at the end. */
  readonly server: string;
  /** `Authorization` and the like. Never logged. */
  readonly headers: Readonly<Record<string, string>>;
  /** What a connection is made with; another value needs another connection. */
  readonly tls: TlsMaterial;
}

/** In the words of `node:tls`; what is absent has its default there. */
interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** The way to one API server. */
export interface KubernetesAccess {
  /** Namespace of the pod, or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /**
   * Reads every file again, so that a rotated token, certificate or CA counts. @throws Error when one cannot be read
   */
  read(): Promise<KubernetesCredentials>;
}

interface KubernetesAccessOptions {
  /** Path of a kubeconfig. @default the files of `KUBECONFIG`, else the pod's service account */
  readonly kubeconfig?: string;
  /** @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Folder of the service account. @default where Kubernetes mounts it */
  readonly serviceAccountFolder?: string;
}

const serviceAccountFolderDefault = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Finds the way to the API server: a kubeconfig when one is named, by the option or by `KUBECONFIG`, else the pod's
 * service account.
 * @throws Error in a sentence for people
 */
export async function openKubernetesAccess(options: KubernetesAccessOptions): Promise<KubernetesAccess> {
  const { kubeconfig, environment = process.env, serviceAccountFolder = serviceAccountFolderDefault } = options;
  const paths =
    kubeconfig === undefined
      ? (environment["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "")
      : [kubeconfig];
  return paths.length === 0 ? serviceAccountAccess(environment, serviceAccountFolder) : kubeconfigAccess(paths);
}

/** Source: Kubernetes documentation, "Accessing the Kubernetes API from a Pod". */
async function serviceAccountAccess(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<KubernetesAccess> {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === "")
    throw new Error(
      "this is no pod (KUBERNETES_SERVICE_HOST is not set), and neither --kubeconfig nor KUBECONFIG names a kubeconfig",
    );
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const readText = async (name: string): Promise<string> => (await readFile(join(folder, name), "utf8")).trim();
  return {
    namespace: await readText("namespace").catch(() => undefined),
    read: async () => ({
      server,
      headers: { authorization: `Bearer ${await readText("token")}` },
      tls: { ca: await readFile(join(folder, "ca.crt")) },
    }),
  };
}

/**
 * The library resolves contexts, inline data and exec plugins. It is loaded only here: it holds every type of the API,
 * some 85 MB, which a pod has no use for. Token files are read here, since the library keeps one for a minute and does
 * not know all of them.
 */
async function kubeconfigAccess(paths: readonly string[]): Promise<KubernetesAccess> {
  const { KubeConfig: Config } = await import("@kubernetes/client-node");
  // Several are one, as kubectl has it, and the first that names a context wins.
  const load = (): KubeConfig => {
    const [config = new Config(), ...others] = paths.map((path) => {
      const read = new Config();
      read.loadFromFile(path);
      return read;
    });
    for (const other of others) config.mergeConfig(other, (config.getCurrentContext() ?? "") !== "");
    return config;
  };
  let config = load();
  const name = paths.join(delimiter);
  clusterOf(config, name);
  return {
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    read: async () => {
      // A plugin's token is kept by the library until it expires; everything else may have changed in the file.
      if (!config.getCurrentUser()?.exec) config = load();
      const { headers, ...credentials } = await credentialsOf(config, name);
      const tokenFile = await tokenFileOf(config, paths);
      const token =
        tokenFile === undefined ? {} : { Authorization: `Bearer ${(await readFile(tokenFile, "utf8")).trim()}` };
      return { ...credentials, headers: { ...headers, ...token } };
    },
  };
}

async function tokenFileOf(config: KubeConfig, paths: readonly string[]): Promise<string | undefined> {
  const current = config.getCurrentUser()?.name;
  const files = await Promise.all(paths.map((path) => tokenFileIn(path, current)));
  return files.find((file) => file !== undefined);
}

/** Source: Kubernetes API reference, kubeconfig v1 AuthInfo; and the provider that the library makes for a pod. */
async function tokenFileIn(path: string, userName: string | undefined): Promise<string | undefined> {
  const { users = [] } = (parseYaml(await readFile(path, "utf8")) ?? {}) as { readonly users?: readonly NamedUser[] };
  const { user } = users.find(({ name }) => name === userName) ?? {};
  const tokenFile = user?.tokenFile ?? user?.["auth-provider"]?.config?.tokenFile;
  return tokenFile === undefined ? undefined : resolve(dirname(path), tokenFile);
}

interface NamedUser {
  readonly name?: string;
  readonly user?: {
    readonly tokenFile?: string;
    readonly "auth-provider"?: { readonly config?: { readonly tokenFile?: string } };
  };
}

function clusterOf(config: KubeConfig, path: string) {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`the kubeconfig ${path} names no cluster for its current context`);
  if (cluster.proxyUrl !== undefined)
    throw new Error(`the kubeconfig ${path} asks for a proxy, which is not supported`);
  return cluster;
}

async function credentialsOf(config: KubeConfig, path: string): Promise<KubernetesCredentials> {
  const { server } = clusterOf(config, path);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, rejectUnauthorized, headers = {}, auth } = options;
  const basic = typeof auth === "string" ? { authorization: `Basic ${Buffer.from(auth).toString("base64")}` } : {};
  return {
    server: server.replace(/\/$/u, ""),
    headers: { ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])), ...basic },
    tls: present({ ca, cert, key, servername, rejectUnauthorized }),
  };
}

function present(tls: Readonly<Record<keyof TlsMaterial, unknown>>): TlsMaterial {
  return Object.fromEntries(Object.entries(tls).filter(([, part]) => part !== undefined)) as TlsMaterial;
}
