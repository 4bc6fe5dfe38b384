import { KubeConfig } from "@kubernetes/client-node";

/** The kubeconfig of a file, for a test to change. */
export function loadKubeConfig(path: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(path);
  return config;
}
