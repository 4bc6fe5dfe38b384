import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, podType, type ResourceType, serviceType } from "../../kube/client/resource.ts";
import { streamRecordName } from "../config/kubernetes/stream-record.ts";

/** NATS servers of one store. */
export interface Servers {
  /** Name of the StatefulSet. */
  readonly name: string;
  readonly replicas: number;
  readonly readyReplicas: number;
  /** Secret with `ca.crt`; undefined without TLS. */
  readonly tlsSecret: string | undefined;
  /** Secret and key of the password of the user `backup`. */
  readonly password: { readonly secret: string; readonly key: string };
}

/** The objects of a release that a migration reads. */
export interface MigratedInstallation {
  /** First part of the names of the objects. */
  readonly prefix: string;
  /** Name of the ConfigMap with the record of the streams. */
  readonly streamRecord: string;
  /** Pods of the runtime, ending ones included. */
  readonly runtimePods: readonly string[];
  /** The servers that the runtime's Service leads to. */
  readonly source: Servers;
  /** The other servers of the release. */
  readonly target: Servers | undefined;
}

/** The installation cannot be migrated as it is. The message states what to do. */
export class NotMigratable extends Error {
  override readonly name = "NotMigratable";
}

interface StatefulSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: { readonly spec: PodSpec };
  };
  readonly status?: { readonly readyReplicas?: number };
}

interface Deployment extends KubeObject {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly containers: readonly {
    readonly args?: readonly string[];
    readonly env?: readonly { readonly name: string; readonly valueFrom?: { readonly secretKeyRef?: SecretKey } }[];
  }[];
  readonly volumes?: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}

interface SecretKey {
  readonly name: string;
  readonly key: string;
}

interface Service extends KubeObject {
  readonly spec: { readonly selector?: Readonly<Record<string, string>> };
}

const apps = { group: "apps", version: "v1" } as const;
const deployments: ResourceType = { ...apps, kind: "Deployment", plural: "deployments" };
const statefulSets: ResourceType = { ...apps, kind: "StatefulSet", plural: "statefulsets" };

const componentLabel = "app.kubernetes.io/component";
const runtimeSuffix = "-runtime";
const recordFlag = "--stream-record=";
const tlsVolume = "tls";
const authVolume = "auth";
const backupKey = "backup";
/** Of servers that an earlier chart installed. */
const passwordVariable = "NATS_BACKUP_PASSWORD";

/** Reads the objects of a release. @throws NotMigratable, KubeError */
export async function readInstallation(
  client: KubeClient,
  namespace: string,
  release: string,
): Promise<MigratedInstallation> {
  const labelled = `app.kubernetes.io/part-of=heliograph,app.kubernetes.io/instance=${release}`;
  const runtime = { namespace, labelSelector: `${labelled},${componentLabel}=runtime` };
  const [deployment] = (await client.list<Deployment>(deployments, runtime)).items;
  if (deployment === undefined)
    throw new NotMigratable(`there is no release ${release} in the namespace ${namespace}; see --namespace, --release`);
  const prefix = (deployment.metadata.name ?? "").slice(0, -runtimeSuffix.length);
  const service = await client.get<Service>(serviceType, { namespace, name: `${prefix}-nats` });
  const sets = await client.list<StatefulSet>(statefulSets, { namespace, labelSelector: labelled });
  const present = service.spec.selector?.[componentLabel];
  const isSource = ({ spec }: StatefulSet): boolean => spec.selector.matchLabels[componentLabel] === present;
  const source = sets.items.find(isSource);
  if (source === undefined)
    throw new NotMigratable(`the Service ${prefix}-nats leads to no StatefulSet of the release`);
  const target = sets.items.find((set) => !isSource(set));
  return {
    prefix,
    streamRecord: recordOf(deployment) ?? streamRecordName(prefix),
    runtimePods: (await client.list(podType, runtime)).items.map(({ metadata }) => metadata.name ?? ""),
    source: serversOf(source),
    target: target && serversOf(target),
  };
}

/** The record that the pods were told to use. */
function recordOf({ spec }: Deployment): string | undefined {
  const args = spec.template.spec.containers.flatMap(({ args: given = [] }) => given);
  return args.find((arg) => arg.startsWith(recordFlag))?.slice(recordFlag.length);
}

function serversOf({ metadata, spec, status }: StatefulSet): Servers {
  const { containers, volumes } = spec.template.spec;
  const secretOf = (volume: string): string | undefined =>
    volumes?.find(({ name: own }) => own === volume)?.secret?.secretName;
  const mounted = secretOf(authVolume);
  const password = mounted === undefined ? passwordOf(containers) : { name: mounted, key: backupKey };
  const name = metadata.name ?? "";
  if (password === undefined) throw new NotMigratable(`the StatefulSet ${name} has no password of the user backup`);
  return {
    name,
    replicas: spec.replicas ?? 1,
    readyReplicas: status?.readyReplicas ?? 0,
    tlsSecret: secretOf(tlsVolume),
    password: { secret: password.name, key: password.key },
  };
}

function passwordOf(containers: PodSpec["containers"]): SecretKey | undefined {
  const variables = containers.flatMap(({ env = [] }) => env);
  return variables.find(({ name }) => name === passwordVariable)?.valueFrom?.secretKeyRef;
}
