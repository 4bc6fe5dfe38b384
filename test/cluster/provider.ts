import { run } from "../tools/run.ts";
import type { ClusterProvider } from "./cluster.ts";
import { kindProvider } from "./kind.ts";
import { kubeconfigProvider } from "./kubeconfig.ts";
import { nodeLayout } from "./node/layout.ts";
import { nodeProvider } from "./node/node-cluster.ts";

/**
 * The ways to come by a cluster: kind in Docker, a node in namespaces of this machine, or one that is there already.
 */
const providerNames = ["kind", "node", "kubeconfig"] as const;

/** The name of a way to come by a cluster. */
type ProviderName = (typeof providerNames)[number];

const dockerMsMax = 10_000;

/**
 * The provider that `CLUSTER` names; without it, kind where Docker works and else the node. A cluster of somebody's
 * kubeconfig is never taken unless it is asked for.
 *
 * @throws Error when there is no provider of that name
 */
export function chooseProvider(asked: string | undefined, dockerWorks: boolean): ProviderName {
  if (asked === undefined || asked === "") return dockerWorks ? "kind" : "node";
  const found = providerNames.find((name) => name === asked);
  if (found === undefined) throw new Error(`CLUSTER=${asked} is not known: use one of ${providerNames.join(", ")}.`);
  return found;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The name of the provider for an environment. */
export async function providerName(env: Environment = process.env): Promise<ProviderName> {
  const asked = env["CLUSTER"];
  return chooseProvider(asked, !asked && (await dockerAnswers()));
}

/** The provider for an environment. */
export async function clusterProvider(env: Environment = process.env): Promise<ClusterProvider> {
  switch (await providerName(env)) {
    case "kind":
      return kindProvider();
    case "node":
      return nodeProvider(nodeLayout(env));
    case "kubeconfig":
      return kubeconfigProvider(env["KUBECONFIG"]);
  }
}

/** Whether there is a Docker daemon that answers. */
export async function dockerAnswers(): Promise<boolean> {
  return (await run("docker", ["info"], { timeoutMs: dockerMsMax })).code === 0;
}
