import type { Flag, Given } from "../command-line/flags.ts";
import type { ClusterTarget } from "./cluster-connection.ts";

const accountDefault = "heliograph-cli";

/** Flags that choose a cluster and a namespace in it, with the names that kubectl gives them. */
export const kubeconfigFlags = [
  { name: "context", value: "NAME", help: "Kubeconfig context; defaults to the current context." },
  { name: "kubeconfig", value: "FILE", help: "Kubeconfig file; defaults to KUBECONFIG." },
  {
    name: "namespace",
    short: "n",
    value: "NAMESPACE",
    help: "Your namespace; defaults to the namespace of the context.",
  },
] as const satisfies readonly Flag[];

/** Flags of the way to a server through its cluster. `kubectl heliograph` sets the first. */
export const clusterFlags = [
  {
    name: "kubernetes",
    help: "Connects to the server through the cluster of the kubeconfig, like `kubectl heliograph`.",
  },
  ...kubeconfigFlags,
  {
    name: "service-account",
    value: "NAME",
    help: "Service account in your namespace to request a token for.",
    standard: accountDefault,
  },
  {
    name: "release-namespace",
    value: "NAMESPACE",
    help: "Namespace of the release; defaults to your namespace, then `heliograph`.",
  },
] as const satisfies readonly Flag[];

/** @throws UsageError */
export function clusterTargetOf(given: Given): ClusterTarget {
  return {
    ...kubeconfigOf(given),
    serviceAccount: given.text("service-account"),
    releaseNamespace: given.optional("release-namespace"),
  };
}

/** @throws UsageError */
export function kubeconfigOf(given: Given): Pick<ClusterTarget, "context" | "kubeconfig" | "namespace"> {
  return {
    context: given.optional("context"),
    kubeconfig: given.optional("kubeconfig"),
    namespace: given.optional("namespace"),
  };
}
