import type { CallOptions, KubeClient } from "../../kube/client/client.ts";
import type { PodPort } from "../../kube/client/port-forward.ts";
import { type KubeObject, podType, serviceType } from "../../kube/client/resource.ts";
import { StartError } from "../../runtime/program/start-error.ts";

/** The Service of a release that leads callers to the pods of the runtime. */
export interface RuntimeService {
  readonly namespace: string;
  readonly name: string;
  readonly scheme: "http" | "https";
  /** Labels of the pods, as a selector. */
  readonly pods: string;
}

interface Service extends KubeObject {
  readonly spec: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly { readonly name?: string; readonly appProtocol?: string }[];
  };
}

interface Pod extends KubeObject {
  readonly spec: {
    readonly containers: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const servicesSelector = "app.kubernetes.io/part-of=heliograph,app.kubernetes.io/component=runtime";
/** Name of the port of both APIs, of the Service and of the container. */
const portName = "http";

/**
 * Finds the Service in the first of the namespaces that has one.
 *
 * @throws StartError `kubernetes` when there is none, or more than one; KubeError
 */
export async function findRuntime(
  client: KubeClient,
  namespaces: readonly string[],
  options: CallOptions,
): Promise<RuntimeService> {
  for (const namespace of new Set(namespaces)) {
    const { items } = await client.list<Service>(serviceType, {
      namespace,
      labelSelector: servicesSelector,
      ...options,
    });
    const found = items.flatMap((service) => runtimeService(namespace, service));
    if (found.length > 1) throw severalReleases(namespace, found);
    const [only] = found;
    if (only !== undefined) return only;
  }
  const where = [...new Set(namespaces)].join(" and ");
  throw new StartError("kubernetes", `no Heliograph release found in ${where}; set --release-namespace`);
}

function severalReleases(namespace: string, found: readonly RuntimeService[]): StartError {
  const names = found.map(({ name }) => name).join(", ");
  return new StartError(
    "kubernetes",
    `${namespace} has several releases (${names}); set --release-namespace to a namespace with a single release`,
  );
}

/** The Service of the admin ports has no such port. */
function runtimeService(namespace: string, { metadata, spec }: Service): readonly RuntimeService[] {
  const port = spec.ports?.find(({ name }) => name === portName);
  if (port === undefined) return [];
  const pods = Object.entries(spec.selector ?? {}).map(([label, value]) => `${label}=${value}`);
  const scheme = port.appProtocol === "https" ? "https" : "http";
  return [{ namespace, name: metadata.name ?? "", scheme, pods: pods.join(",") }];
}

/**
 * Picks a ready pod. Each call picks anew, so that the connection after one that ended leads to a living pod.
 *
 * @throws StartError `kubernetes` when no pod is ready; KubeError
 */
export async function readyPodPort(
  client: KubeClient,
  { namespace, name, pods }: RuntimeService,
  random: () => number,
  options: CallOptions,
): Promise<PodPort> {
  const { items } = await client.list<Pod>(podType, { namespace, labelSelector: pods, ...options });
  const ready = items.filter(isReady).flatMap((pod) => podPort(namespace, pod));
  const picked = ready[Math.floor(random() * ready.length)];
  if (picked !== undefined) return picked;
  const what = `no pod of the Service ${namespace}/${name} is ready (${items.length} exist)`;
  throw new StartError("kubernetes", `${what}; see kubectl --namespace ${namespace} get pods`);
}

function isReady({ metadata, status }: Pod): boolean {
  const isEnding = metadata.deletionTimestamp !== undefined;
  return !isEnding && (status?.conditions ?? []).some((one) => one.type === "Ready" && one.status === "True");
}

function podPort(namespace: string, { metadata, spec }: Pod): readonly PodPort[] {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  const port = ports.find(({ name }) => name === portName)?.containerPort;
  return port === undefined ? [] : [{ namespace, pod: metadata.name ?? "", port }];
}
