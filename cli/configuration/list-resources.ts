import type { Environment } from "../command-line/flags.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, ResourceType } from "../../kube/client/resource.ts";
import { createOutput, type Column, type OutputFormat } from "../api/output.ts";
import { CommandError, type ExitName } from "../command-line/command.ts";
import { say } from "../command-line/terminal.ts";
import { type ClusterTarget, explained, openCluster } from "../api/cluster-connection.ts";

export interface ResourcesArguments {
  readonly cluster: Pick<ClusterTarget, "context" | "kubeconfig" | "namespace">;
  readonly isEveryNamespace: boolean;
  readonly format: OutputFormat;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

interface Resource extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const group = { group: "heliograph.dev", version: "v1alpha1" } as const;
const types: readonly ResourceType[] = [
  { ...group, kind: "WebhookPartner", plural: "webhookpartners" },
  { ...group, kind: "MetricCatalog", plural: "metriccatalogs" },
  { ...group, kind: "QueryClassQuota", plural: "queryclassquotas" },
  { ...group, kind: "EventCatalog", plural: "eventcatalogs" },
];
const pageItems = 500;
/** Five million resources. */
const pagesMax = 10_000;

const columns: readonly Column<Resource>[] = [
  { title: "NAMESPACE", cell: ({ metadata }) => metadata.namespace },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "NAME", cell: ({ metadata }) => metadata.name },
  {
    title: "READY",
    cell: (resource) => readyOf(resource)?.status ?? "Unknown",
    tone: (resource) => (isReady(resource) ? "good" : "bad"),
  },
  { title: "REASON", cell: (resource) => readyOf(resource)?.reason },
  { title: "MESSAGE", cell: (resource) => (isReady(resource) ? undefined : readyOf(resource)?.message) },
];

/** Prints the resources page by page. @throws StartError `kubernetes` */
export async function listResources(
  { cluster, isEveryNamespace, format }: ResourcesArguments,
  environment: Environment,
): Promise<ExitName> {
  const { access, client } = await openCluster(cluster);
  const namespace = cluster.namespace ?? access.namespace ?? "default";
  let unready = 0;
  try {
    return await explained(async () => {
      const pages = pagesOf(client, isEveryNamespace ? undefined : namespace, (page) => {
        unready += page.filter((resource) => !isReady(resource)).length;
      });
      const count = await createOutput(format, environment).list(columns, pages);
      if (count === 0) say(`No resources in ${isEveryNamespace ? "any namespace" : `the namespace ${namespace}`}.`);
      return unready > 0 ? "problems" : "done";
    });
  } finally {
    await client.close();
  }
}

async function* pagesOf(
  client: KubeClient,
  namespace: string | undefined,
  onPage: (page: readonly Resource[]) => void,
): AsyncGenerator<readonly Resource[]> {
  for (const type of types) {
    let next: string | undefined;
    let pages = 0;
    do {
      pages += 1;
      if (pages > pagesMax) throw new CommandError("unreachable", "the list of the API server never ends");
      const place = {
        ...(namespace === undefined ? {} : { namespace }),
        ...(next === undefined ? {} : { continue: next }),
      };
      const page = await client.list<Resource>(type, { limit: pageItems, ...place });
      onPage(page.items);
      yield page.items;
      next = page.continue;
    } while (next !== undefined);
  }
}

function readyOf({ status }: Resource): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready");
}

function isReady(resource: Resource): boolean {
  return readyOf(resource)?.status === "True";
}
