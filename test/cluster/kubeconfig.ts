import { runKubectl } from "../support/kubectl.ts";
import { resolveTool } from "../tools/resolve.ts";
import type { Cluster, ClusterProvider } from "./cluster.ts";
import { portForward } from "./port-forward.ts";

const noImages =
  "The cluster of KUBECONFIG pulls its images itself: build and push them to a registry that it reaches.";

/**
 * A cluster that is there already and stays: `up` only asks whether it answers, `down` does nothing.
 *
 * @param path of one kubeconfig file
 */
export function kubeconfigProvider(path: string | undefined): ClusterProvider {
  return {
    up: async (progress) => {
      if (!path) throw new Error("CLUSTER=kubeconfig needs KUBECONFIG, the path of one kubeconfig file.");
      progress(`asking the cluster of ${path}`);
      const cluster = await existingCluster(path);
      const { code, stderr } = await cluster.kubectl(["get", "--raw=/readyz"]);
      if (code !== 0) throw new Error(`The cluster of ${path} does not answer: ${stderr.trim()}`);
      return cluster;
    },
    down: async (progress) => progress("the cluster of KUBECONFIG was not started here and stays"),
  };
}

/** A cluster about which nothing but its kubeconfig is known. */
export async function existingCluster(kubeconfig: string): Promise<Cluster> {
  const kubectl = await resolveTool("kubectl");
  return {
    kubeconfig,
    kubectl: (args, stdin) => runKubectl(kubectl, kubeconfig, args, stdin),
    buildImage: () => Promise.reject(new Error(noImages)),
    loadImage: () => Promise.reject(new Error(noImages)),
    forward: (to) => portForward(kubectl, kubeconfig, to),
  };
}
