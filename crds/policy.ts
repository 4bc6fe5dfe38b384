/**
 * Names that namespaces may use in their resources. A resource narrows its grant and never widens it. Lists hold exact
 * names; `*` is everything.
 */
export interface InstallationPolicy {
  /** A namespace has the union of all grants that name it; without any, nothing. */
  readonly grants: readonly NamespaceGrant[];
}

export interface NamespaceGrant {
  readonly namespaces: readonly string[];
  readonly tenants: readonly string[];
  readonly producers: readonly string[];
  /** Hosts of store URLs, without the port; `*.example.com` is every name below `example.com`. */
  readonly storeHosts: readonly string[];
  /** ARNs of AWS roles that catalogs may assume for their stores. */
  readonly awsRoles: readonly string[];
  /** Metric ids of catalogs; `shop_*` is every id that begins with `shop_`. */
  readonly metrics: readonly string[];
  /** Event types of event catalogs; `payout.*` is every type that begins with `payout.`. */
  readonly eventTypes: readonly string[];
  /** Client ids and scopes of quotas. */
  readonly clients: readonly string[];
  /** Blocks that `networks.allowCidrs` may lie in. */
  readonly cidrs: readonly string[];
  /** True when `networks.allowPlaintext` may be true. */
  readonly plaintext: boolean;
}

/** Everything for every namespace, for one owner of all resources. Metadata addresses stay forbidden. */
export const allowAll: InstallationPolicy = {
  grants: [
    {
      namespaces: ["*"],
      tenants: ["*"],
      producers: ["*"],
      storeHosts: ["*"],
      awsRoles: ["*"],
      metrics: ["*"],
      eventTypes: ["*"],
      clients: ["*"],
      cidrs: ["0.0.0.0/0", "::/0"],
      plaintext: true,
    },
  ],
};

/** The union of all grants of a namespace. */
export function grantOf(policy: InstallationPolicy, namespace: string): Omit<NamespaceGrant, "namespaces"> {
  const grants = policy.grants.filter(({ namespaces }) => names(namespaces, namespace));
  return {
    tenants: grants.flatMap(({ tenants }) => tenants),
    producers: grants.flatMap(({ producers }) => producers),
    storeHosts: grants.flatMap(({ storeHosts }) => storeHosts),
    awsRoles: grants.flatMap(({ awsRoles }) => awsRoles),
    metrics: grants.flatMap(({ metrics }) => metrics),
    eventTypes: grants.flatMap(({ eventTypes }) => eventTypes),
    clients: grants.flatMap(({ clients }) => clients),
    cidrs: grants.flatMap(({ cidrs }) => cidrs),
    plaintext: grants.some(({ plaintext }) => plaintext),
  };
}

/** True when a list of a grant contains this name. */
export function names(list: readonly string[], name: string): boolean {
  return list.includes("*") || list.includes(name);
}
