import { KubeConfig } from "@kubernetes/client-node";

export type { KubeConfig } from "@kubernetes/client-node";

/** Where the way to the API server is written down. */
export interface KubeConfigSource {
  /** Path of a kubeconfig. @default `KUBECONFIG`, then `~/.kube/config`, then the pod's service account */
  readonly path?: string;
  /** Name of the context to use. @default the one the file calls current */
  readonly context?: string;
}

/**
 * Reads who the API server is and how to prove ourselves to it.
 *
 * @throws Error when the file cannot be read or names no such context
 */
export function loadKubeConfig(source: KubeConfigSource = {}): KubeConfig {
  const config = new KubeConfig();
  if (source.path === undefined) config.loadFromDefault();
  else config.loadFromFile(source.path);
  if (source.context !== undefined) {
    if (config.getContextObject(source.context) === null)
      throw new Error(`the kubeconfig has no context "${source.context}"`);
    config.setCurrentContext(source.context);
  }
  if (config.getCurrentCluster() === null) throw new Error("the kubeconfig names no cluster for its current context");
  return config;
}
