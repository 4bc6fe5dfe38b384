import { Informer, type InformerOptions } from "../../kube/informer/informer.ts";
import type { KubeObject, ResourceType } from "../../kube/client/resource.ts";

/** Source: Kubernetes API reference, ConfigMap v1 core. */
const configMapType: ResourceType = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface PolicyConfigMapOptions extends Omit<InformerOptions<ConfigMap>, "type" | "fieldSelector" | "name"> {
  readonly namespace: string;
  readonly configMap: string;
  /** Called with each text of the policy; empty without the entry. A deleted ConfigMap changes nothing. */
  readonly onText: (text: string) => void;
}

const entry = "policy.yaml";

/** Creates the watch of the ConfigMap that holds the policy. */
export function createPolicyWatch({ configMap, onText, ...options }: PolicyConfigMapOptions): Informer<ConfigMap> {
  const informer = new Informer<ConfigMap>({
    ...options,
    type: configMapType,
    name: "policy",
    fieldSelector: `metadata.name=${configMap}`,
  });
  informer.onChange(({ kind, object }) => {
    if (kind !== "deleted") onText(object.data?.[entry] ?? "");
  });
  return informer;
}
