import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { type Credentials, readCredentials } from "./credentials.ts";
import type { KubeConfigSource } from "./kube-config.ts";
import { findServiceAccount, readServiceAccount, type ServiceAccount } from "./service-account.ts";

/** The way to one API server. */
export type ClusterAccess = KubeConfig | ServiceAccount;

/** Where a way is looked for, for tests. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** @default where Kubernetes mounts it */
  readonly serviceAccountFolder?: string;
}

/**
 * Finds the way to the API server. The library is loaded only for a kubeconfig: it holds every type of the API, a third
 * of the memory of a small installation, of which a pod needs nothing.
 *
 * @throws Error when the kubeconfig cannot be read or names no such context
 */
export async function openClusterAccess(source: KubeConfigSource, surroundings?: Surroundings): Promise<ClusterAccess> {
  const { environment, home, serviceAccountFolder } = surroundings ?? { environment: process.env, home: homedir() };
  const account = await serviceAccountFor(source, environment, home, serviceAccountFolder);
  if (account !== undefined) return account;
  const { loadKubeConfig } = await import("./kube-config.ts");
  return loadKubeConfig(source);
}

/** Namespace of the pod, or of the kubeconfig's current context. @default "default" */
export function namespaceOf(way: ClusterAccess): string {
  const namespace = isServiceAccount(way) ? way.namespace : way.getContextObject(way.getCurrentContext())?.namespace;
  return namespace ?? "default";
}

/** Scheme, host and port of the API server. */
export function serverOf(way: ClusterAccess): string {
  return isServiceAccount(way) ? way.server : (way.getCurrentCluster()?.server ?? "http://none");
}

/** What the files say right now. @throws Error when a file is missing or a plugin fails */
export async function currentCredentials(way: ClusterAccess): Promise<Credentials> {
  return isServiceAccount(way) ? await readServiceAccount(way) : await readCredentials(way);
}

/** The pod's own, unless somebody names a kubeconfig or has one. */
async function serviceAccountFor(
  source: KubeConfigSource,
  environment: Surroundings["environment"],
  home: string,
  folder: string | undefined,
): Promise<ServiceAccount | undefined> {
  if (Object.values(source).some((part) => part !== undefined)) return undefined;
  if ((environment["KUBECONFIG"] ?? "") !== "") return undefined;
  const hasFile = await access(join(home, ".kube", "config")).then(
    () => true,
    () => false,
  );
  return hasFile ? undefined : await findServiceAccount(environment, folder);
}

function isServiceAccount(way: ClusterAccess): way is ServiceAccount {
  return "folder" in way;
}
