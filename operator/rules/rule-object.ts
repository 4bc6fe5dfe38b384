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

/** What a program wrote. Source: Kubernetes API reference, ManagedFieldsEntry v1 meta. */
interface ManagedFields {
  readonly manager?: string;
  readonly fieldsV1?: { readonly "f:metadata"?: { readonly "f:labels"?: Readonly<Record<string, object>> } };
}

function managedFieldsOf(object: RuleObject | undefined): readonly ManagedFields[] {
  return (object?.metadata.managedFields ?? []) as readonly ManagedFields[];
}

function isOwn({ manager = "" }: ManagedFields): boolean {
  return manager.startsWith("heliograph-operator");
}

/** Names of the other programs that wrote the object. */
export function otherManagers(object: RuleObject | undefined): readonly string[] {
  const names = managedFieldsOf(object).flatMap((entry) => (isOwn(entry) ? [] : [entry.manager ?? ""]));
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Names of the labels that the operator set and no other program claims, in any earlier version of it too. */
export function ownedLabels(object: RuleObject | undefined): ReadonlySet<string> {
  const [own, others] = [true, false].map((isWanted) => {
    const entries = managedFieldsOf(object).filter((entry) => isOwn(entry) === isWanted);
    return new Set(entries.flatMap(({ fieldsV1 }) => Object.keys(fieldsV1?.["f:metadata"]?.["f:labels"] ?? {})));
  });
  const names = [...(own ?? [])].filter((key) => key.startsWith("f:") && others?.has(key) !== true);
  return new Set(names.map((key) => key.slice("f:".length)));
}
