import { access, readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type ClusterAccess, fingerprintOf } from "./credentials.ts";

/** Selects a kubeconfig and its context. */
interface KubeConfigSource {
  /** Path of a kubeconfig. @default `KUBECONFIG`, then `~/.kube/config`, then the pod's service account */
  readonly path?: string | undefined;
  /** Name of the context. @default the current context of the file */
  readonly context?: string | undefined;
}

/** The environment in which an access is searched. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of `.kube/config`. @default the file is not searched */
  readonly home?: string;
  /** @default the mount path of Kubernetes */
  readonly serviceAccountFolder?: string;
}

/** The service account that Kubernetes mounts into a pod. */
interface ServiceAccount {
  /** Scheme, host and port. */
  readonly server: string;
  /** Namespace of the pod; undefined when the folder has none. */
  readonly namespace: string | undefined;
  /** Folder of `token` and `ca.crt`, which change over time. */
  readonly folder: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const folderDefault = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Finds the address and credentials of the API server. The client library is loaded only for a kubeconfig: it takes
 * some 85 MB for all types of the API, which a pod does not use.
 *
 * @throws Error when the kubeconfig cannot be read or names no such context, and when there is neither a kubeconfig nor
 *   a service account
 */
export async function openClusterAccess(
  source: KubeConfigSource,
  surroundings: Surroundings = { environment: process.env, home: homedir() },
): Promise<ClusterAccess> {
  const paths = await kubeConfigPaths(source, surroundings);
  if (paths.length > 0) {
    const { openKubeConfig } = await import("./kube-config.ts");
    return openKubeConfig(paths, source.context);
  }
  const account = await findServiceAccount(surroundings.environment, surroundings.serviceAccountFolder);
  if (account !== undefined && source.context === undefined) return serviceAccountAccess(account);
  throw new Error("no kubeconfig and no service account found; set --kubeconfig or KUBECONFIG");
}

async function kubeConfigPaths({ path }: KubeConfigSource, surroundings: Surroundings): Promise<readonly string[]> {
  if (path !== undefined) return [path];
  const { environment, home } = surroundings;
  const named = (environment["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (named.length > 0 || home === undefined) return named;
  const usual = join(home, ".kube", "config");
  return await access(usual).then(
    () => [usual],
    () => [],
  );
}

/**
 * Finds the service account of this pod. Returns undefined outside a pod or without an account.
 *
 * Source: Kubernetes documentation, "Accessing the Kubernetes API from a Pod".
 *
 * @param folder its mount path
 */
async function findServiceAccount(
  environment: Environment,
  folder = folderDefault,
): Promise<ServiceAccount | undefined> {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === "" || (await textIn(folder, "token")) === undefined) return undefined;
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: await textIn(folder, "namespace"),
    folder,
  };
}

/** Creates the access of a service account. */
function serviceAccountAccess({ server, namespace, folder }: ServiceAccount): ClusterAccess {
  return {
    server,
    namespace,
    read: async () => {
      const token = await readFile(join(folder, "token"), "utf8");
      const ca = await readFile(join(folder, "ca.crt"));
      return {
        server,
        headers: { Authorization: `Bearer ${token.trim()}` },
        connection: { type: "agent", connect: { ca } },
        fingerprint: fingerprintOf({ server, ca }),
      };
    },
  };
}

async function textIn(folder: string, file: string): Promise<string | undefined> {
  return await readFile(join(folder, file), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}
