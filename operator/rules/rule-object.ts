// Alert rules of objectives, as a PrometheusRule that the operator owns. It generates no rule and evaluates none.
import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { KubeMeta, KubeObject, ResourceType } from "../../kube/client/resource.ts";

/** Source: API reference of the Prometheus operator, PrometheusRule v1 monitoring.coreos.com. */
export const ruleType: ResourceType = {
  group: "monitoring.coreos.com",
  version: "v1",
  kind: "PrometheusRule",
  plural: "prometheusrules",
};

interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** A PrometheusRule as the API server holds it. */
export interface RuleObject extends KubeObject {
  readonly metadata: KubeMeta & { readonly ownerReferences?: readonly OwnerReference[] };
  readonly spec?: object;
}

/** kubectl's copy of the object, which is as large as the object. */
export const copyAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The object without its rules, as a watch of metadata keeps it. */
export function identityOf({ metadata }: RuleObject): RuleObject {
  const { [copyAnnotation]: _copy, ...annotations } = metadata.annotations ?? {};
  return { metadata: { ...metadata, annotations } };
}

/** What decisions depend on, apart from its status: the generation changes with the spec. Empty without an object. */
export function fingerprintOf(object: RuleObject | undefined): string {
  if (object === undefined) return "";
  const { uid, generation, labels, annotations, ownerReferences, deletionTimestamp } = identityOf(object).metadata;
  return canonicalJson([uid, generation, labels ?? {}, annotations, ownerReferences, deletionTimestamp]);
}

/** Names of the other programs that wrote the object. */
export function otherManagers(object: RuleObject | undefined): readonly string[] {
  const names = (object?.metadata.managedFields ?? []).map((entry) => (entry as { manager?: string }).manager ?? "");
  return [...new Set(names.filter((name) => name !== "" && !name.startsWith("heliograph-operator")))];
}
