import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { parse as parseYaml } from "yaml";
import { type ClusterAccess, readCredentials } from "./credentials.ts";

/**
 * Opens the access of kubeconfig files. Several files are merged like kubectl does: the first current context wins.
 *
 * @throws Error when a file cannot be read, or names no such context or no cluster for it
 */
export function openKubeConfig(paths: readonly string[], context?: string): ClusterAccess {
  return kubeConfigAccess(
    () => loadFiles(paths, context),
    (user) => tokenFileOf(paths, user),
  );
}

/**
 * Creates the access of a loaded kubeconfig.
 *
 * @param load reads the kubeconfig again; called for each read of the credentials
 * @param findTokenFile the `tokenFile` of a user, which the library does not read
 */
export function kubeConfigAccess(
  load: () => KubeConfig,
  findTokenFile: (user: string | undefined) => Promise<string | undefined> = () => Promise.resolve(undefined),
): ClusterAccess {
  let config = load();
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error("the kubeconfig names no cluster for its current context");
  return {
    server: cluster.server.replace(/\/$/u, ""),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    read: async () => {
      // The library keeps a plugin's token until it expires.
      if (!config.getCurrentUser()?.exec) config = load();
      const credentials = await readCredentials(config);
      const tokenFile = await findTokenFile(config.getCurrentUser()?.name);
      if (tokenFile === undefined) return credentials;
      const token = (await readFile(tokenFile, "utf8")).trim();
      return { ...credentials, headers: { ...credentials.headers, Authorization: `Bearer ${token}` } };
    },
  };
}

function loadFiles(paths: readonly string[], context: string | undefined): KubeConfig {
  const [config = new KubeConfig(), ...others] = paths.map((path) => {
    const read = new KubeConfig();
    read.loadFromFile(path);
    return read;
  });
  for (const other of others) config.mergeConfig(other, (config.getCurrentContext() ?? "") !== "");
  if (context !== undefined) {
    if (config.getContextObject(context) === null) throw new Error(`the kubeconfig has no context "${context}"`);
    config.setCurrentContext(context);
  }
  return config;
}

async function tokenFileOf(paths: readonly string[], user: string | undefined): Promise<string | undefined> {
  const files = await Promise.all(paths.map((path) => tokenFileIn(path, user)));
  return files.find((file) => file !== undefined);
}

/** Source: Kubernetes API reference, kubeconfig v1 AuthInfo. */
async function tokenFileIn(path: string, userName: string | undefined): Promise<string | undefined> {
  const { users = [] } = (parseYaml(await readFile(path, "utf8")) ?? {}) as { readonly users?: readonly NamedUser[] };
  const tokenFile = users.find(({ name }) => name === userName)?.user?.tokenFile;
  return tokenFile === undefined ? undefined : resolve(dirname(path), tokenFile);
}

interface NamedUser {
  readonly name?: string;
  readonly user?: { readonly tokenFile?: string };
}
