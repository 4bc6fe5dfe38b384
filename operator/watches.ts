import type { Logger } from "pino";
import type { Kind } from "../crds/resource.ts";
import { shardNames, shardSecretName, shardSecretType } from "../crds/shards/shards.ts";
import { everyNamespace, NamedSet, type WatchedNamespaces, WatchedSet } from "./inventory/watched-set.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Clock } from "../limits/clock.ts";
import type { InformerHealth } from "../kube/informer/informer.ts";
import type { KubeMetrics } from "../kube/metrics.ts";
import type { Outage } from "../kube/outage.ts";
import { type KubeObject, secretType } from "../kube/client/resource.ts";
import type { EndpointSlice } from "./observe/endpoints.ts";
import type { OperatorOptions } from "./options.ts";
import {
  endpointSliceType,
  kindsInOrder,
  resourceTypes,
  type ResourceObject,
  type SecretObject,
} from "./resource-types.ts";

/** Everything that the operator watches. */
export interface Watches {
  readonly kinds: Readonly<Record<Kind, WatchedSet<ResourceObject>>>;
  /** Names and versions of the Secrets in the watched namespaces, without their data. */
  readonly secrets: WatchedSet<KubeObject>;
  /** The Secrets that hold the installation's shards, each by its name. */
  readonly shards: NamedSet<SecretObject>;
  /** Of the runtime's Service; undefined when its pods are listed by hand. */
  readonly slices: WatchedSet<EndpointSlice> | undefined;
}

interface WatchParts {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  readonly outage: Outage;
  readonly clock: Clock;
}

const serviceNameLabel = "kubernetes.io/service-name";
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** Makes the watches; none is started. */
export function createWatches(
  { watched, namespace, selector, prefix, counts, runtime }: OperatorOptions,
  parts: WatchParts,
): Watches {
  const kind = (name: Kind): WatchedSet<ResourceObject> => {
    const labelled = selector === undefined ? {} : { labelSelector: selector };
    return new WatchedSet(watched, {
      ...parts,
      name: resourceTypes[name].plural,
      type: resourceTypes[name],
      trim: withoutCopies,
      ...labelled,
    });
  };
  return {
    kinds: {
      WebhookPartner: kind("WebhookPartner"),
      MetricCatalog: kind("MetricCatalog"),
      QueryClassQuota: kind("QueryClassQuota"),
      EventCatalog: kind("EventCatalog"),
    },
    secrets: new WatchedSet(watched, {
      ...parts,
      name: "secrets",
      type: secretType,
      metadataOnly: true,
      fieldSelector: `type!=${shardSecretType}`,
      trim: identityOnly,
    }),
    shards: new NamedSet<SecretObject>(
      shardNames(counts).map((name) => shardSecretName(prefix, name)),
      { ...parts, namespace, name: "shard", type: secretType },
    ),
    slices:
      "urls" in runtime
        ? undefined
        : new WatchedSet<EndpointSlice>([namespace], {
            ...parts,
            name: "endpointslices",
            type: endpointSliceType,
            labelSelector: `${serviceNameLabel}=${runtime.service}`,
          }),
  };
}

/** Any of the watches. */
type AnyWatch = Pick<WatchedSet<KubeObject>, "start" | "stop" | "whenSettled" | "health">;

/** All watches. */
export function watchesIn({ kinds, secrets, shards, slices }: Watches): readonly AnyWatch[] {
  return [...kindsInOrder.map((kind) => kinds[kind]), secrets, shards, ...(slices === undefined ? [] : [slices])];
}

type NamespacedSet = Pick<WatchedSet<KubeObject>, "rejectionOf" | "onState">;

/**
 * The sets of the watched namespaces: a fault of one namespace must not affect the others. Event catalogs are optional:
 * an API server that does not know the kind yet must not stop edits of the other kinds.
 */
function setsOfNamespaces({ kinds, secrets }: Watches): readonly NamespacedSet[] {
  return [...kindsInOrder.filter((kind) => kind !== "EventCatalog").map((kind) => kinds[kind]), secrets];
}

/** Calls the handler when what can be listed of a namespace changes; `*` stands for every namespace. */
export function onNamespaceState(watches: Watches, handler: (namespace: string) => void): void {
  for (const set of setsOfNamespaces(watches)) set.onState(handler);
}

/** Whether each watched namespace can be listed; `*` stands for every namespace. */
export function namespaceStates(watches: Watches, watched: WatchedNamespaces): ReadonlyMap<string, boolean> {
  const all = watched === "all" ? [everyNamespace] : watched;
  return new Map(all.map((namespace) => [namespace, unavailability(watches, namespace) === undefined]));
}

/** The error of the server why a namespace cannot be listed; undefined while it can. */
export function unavailability(watches: Watches, namespace: string): string | undefined {
  for (const set of setsOfNamespaces(watches)) {
    const rejection = set.rejectionOf(namespace);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

/** Health of each informer, by name. */
export function healthOf(watches: Watches): ReadonlyMap<string, InformerHealth> {
  return new Map(watchesIn(watches).flatMap((set) => [...set.health()]));
}

/**
 * Removes kubectl's copy of the object from its annotations. When the generation is unchanged, it keeps the known spec,
 * so that most changes of a status add no memory.
 */
export function withoutCopies(object: ResourceObject, known?: ResourceObject): ResourceObject {
  const { [lastApplied]: _copy, ...annotations } = object.metadata.annotations ?? {};
  const { uid, generation } = object.metadata;
  const isSame = known?.metadata.uid === uid && known.metadata.generation === generation;
  return { ...object, metadata: { ...object.metadata, annotations }, spec: isSame ? known.spec : object.spec };
}

function identityOnly({
  metadata: { name = "", namespace = "", uid = "", resourceVersion = "" },
}: KubeObject): KubeObject {
  return { metadata: { name, namespace, uid, resourceVersion } };
}
