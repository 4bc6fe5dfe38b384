import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ClusterAccess } from "../../kube/client/credentials.ts";
import { kubeConfigAccess } from "../../kube/client/kube-config.ts";
import type { KubeObject, ResourceType } from "../../kube/client/resource.ts";
import { loadKubeConfig } from "../kube/load-kube-config.ts";
import { shardNames, shardSecretName } from "../../crds/shards/shards.ts";
import { type OperatorCluster, prefix } from "./operator-cluster.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/reference/operator.md", import.meta.url)), "utf8");

/** Where rights are granted: in the installation's namespace or in a watched one. */
export type Place = "installation" | "watched";

/** One row of the table of rights. */
export interface Right {
  readonly place: Place;
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
}

/** The table of rights: where, API group, resource, verbs. */
export const rights: readonly Right[] = [
  ...page.matchAll(
    /^\| (?<place>installation|watched) \| (?<group>[^|]+) \| `(?<resource>[a-z/]+)` \| (?<verbs>[a-z, ]+) \|/gmu,
  ),
].map(({ groups = {} }) => ({
  place: groups["place"] as Place,
  group: (groups["group"] ?? "").replaceAll("`", "").replace("core", "").trim(),
  resource: groups["resource"] ?? "",
  verbs: (groups["verbs"] ?? "").trim().split(", "),
}));

const roleType: ResourceType = { group: "rbac.authorization.k8s.io", version: "v1", kind: "Role", plural: "roles" };
const bindingType: ResourceType = { ...roleType, kind: "RoleBinding", plural: "rolebindings" };
const user = "heliograph-operator";
/** Of the sets in tests of rights. */
const countsMax = { config: 4, keys: 2 };
const nameOf = (place: Place): string => `heliograph-${place}`;

/** Secrets of the installation are granted by the names of the shards; a name cannot limit the right to create. */
function rulesOf({ place, group, resource, verbs }: Right): readonly object[] {
  const rule = { apiGroups: [group], resources: [resource] };
  if (place !== "installation" || resource !== "secrets") return [{ ...rule, verbs }];
  const resourceNames = shardNames(countsMax).map((name) => shardSecretName(prefix, name));
  return [
    { ...rule, verbs: ["create"] },
    { ...rule, resourceNames, verbs: verbs.filter((verb) => verb !== "create") },
  ];
}

/** Grants the rights of the page, unless some are left out, in a namespace. */
export async function grant(
  { client }: OperatorCluster,
  namespace: string,
  place: Place,
  isGranted: (right: Right) => boolean = () => true,
): Promise<void> {
  const rules = rights.filter((right) => right.place === place && isGranted(right)).flatMap(rulesOf);
  const metadata = { namespace, name: nameOf(place) };
  await client.apply(roleType, { metadata, rules } as KubeObject, { fieldManager: "test", force: true });
  await bind({ client }, namespace, place);
}

/** Binds the role of {@link grant} to the operator. */
export async function bind(
  { client }: Pick<OperatorCluster, "client">,
  namespace: string,
  place: Place,
): Promise<void> {
  const name = nameOf(place);
  const roleRef = { apiGroup: roleType.group, kind: "Role", name };
  const subjects = [{ kind: "User", name: user, apiGroup: roleType.group }];
  const binding = { metadata: { namespace, name }, roleRef, subjects } as KubeObject;
  await client.apply(bindingType, binding, { fieldManager: "test", force: true });
}

/** Deletes the binding, as the administrator of a tenant may. */
export async function unbind({ client }: OperatorCluster, namespace: string, place: Place): Promise<void> {
  await client.delete(bindingType, { namespace, name: nameOf(place) });
}

/** The cluster as the operator sees it when it has no other rights than it was granted. */
export function asOperator(cluster: OperatorCluster): ClusterAccess {
  const config = loadKubeConfig(cluster.kube.kubeconfig);
  config.users = config.users.map((one) => ({ ...one, impersonateUser: user }));
  return kubeConfigAccess(() => config);
}
