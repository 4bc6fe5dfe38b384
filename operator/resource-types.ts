import type { CatalogCheck } from "../crds/configz.ts";
import type { ConditionStatus } from "../crds/reasons.ts";
import type { Kind, Resource } from "../crds/resource.ts";
import type { KubeMeta, KubeObject, ResourceType } from "../kube/client/resource.ts";

/** The kinds as the API server addresses them. */
export const resourceTypes: Readonly<Record<Kind, ResourceType>> = {
  WebhookPartner: { group: "heliograph.dev", version: "v1alpha1", kind: "WebhookPartner", plural: "webhookpartners" },
  MetricCatalog: { group: "heliograph.dev", version: "v1alpha1", kind: "MetricCatalog", plural: "metriccatalogs" },
  QueryClassQuota: {
    group: "heliograph.dev",
    version: "v1alpha1",
    kind: "QueryClassQuota",
    plural: "queryclassquotas",
  },
  EventCatalog: { group: "heliograph.dev", version: "v1alpha1", kind: "EventCatalog", plural: "eventcatalogs" },
};

export const kindsInOrder = [
  "WebhookPartner",
  "MetricCatalog",
  "QueryClassQuota",
  "EventCatalog",
] as const satisfies readonly Kind[];

/** Source: Kubernetes API reference, EndpointSlice v1 discovery.k8s.io. */
export const endpointSliceType: ResourceType = {
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
};

export interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
}

/** One aspect of an object's state. Source: Kubernetes API reference, Condition v1 meta. */
export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339; when the status last changed. */
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** Values of the columns that no JSON path can compute. They depend on the spec only. */
export interface StatusColumns {
  /** `<namespace>/<prefix>` of the installation that writes the status. */
  readonly installation?: string;
  /** Host of a partner's endpoint, with its port where one is given. */
  readonly endpointHost?: string;
  /** Number of a catalog's metrics. */
  readonly metrics?: number;
  /** Number of a catalog's stores. */
  readonly stores?: number;
  /** Number of a quota's clients. */
  readonly clients?: number;
  /** Number of an event catalog's types, and of their versions. */
  readonly types?: number;
  readonly versions?: number;
}

export interface ResourceStatus extends StatusColumns {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  /** Metrics of a catalog that do not match their stores. */
  readonly observed?: readonly CatalogCheck[];
}

/** One object of a kind as the API server holds it. */
export interface ResourceObject extends KubeObject {
  readonly kind: Kind;
  readonly metadata: KubeMeta & {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly generation: number;
  };
  readonly spec: Resource["spec"];
  readonly status?: ResourceStatus;
}

/** While it is "true", the operator keeps the version of the object that it published last. */
export const pausedAnnotation = "heliograph.dev/paused";

/** Returns true for an object with the annotation. */
export function isPaused({
  metadata,
}: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}): boolean {
  return metadata.annotations?.[pausedAnnotation] === "true";
}
