import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { ClusterAccess } from "./credentials.ts";
import { findServiceAccount, serviceAccountAccess } from "./service-account.ts";

/** Selects a kubeconfig and its context. */
interface KubeConfigSource {
  /** Path of a kubeconfig. @default `KUBECONFIG`, then `~/.kube/config`, then the pod's service account */
  readonly path?: string;
  /** Name of the context to use. @default the one that the file calls current */
  readonly context?: string;
}

/** Where an access is looked for. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of `.kube/config`. @default no such file is looked for */
  readonly home?: string;
  /** @default where Kubernetes mounts it */
  readonly serviceAccountFolder?: string;
}

/**
 * Finds the way to the API server. The client library is loaded only for a kubeconfig: it holds every type of the API,
 * some 85 MB, which a pod does not use.
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
