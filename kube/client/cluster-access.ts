import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { ClusterAccess } from "./credentials.ts";
import { findServiceAccount, serviceAccountAccess } from "./service-account.ts";

/** Selects a kubeconfig and its context. */
interface KubeConfigSource {
  /** Path of a kubeconfig. @default `KUBECONFIG`, then `~/.kube/config`, then the pod's service account */
  readonly path?: string;
  /** Name of the context. @default the current context of the file */
  readonly context?: string;
}

/** The environment in which an access is searched. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of `.kube/config`. @default the file is not searched */
  readonly home?: string;
  /** @default the mount path of Kubernetes */
  readonly serviceAccountFolder?: string;
}

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
