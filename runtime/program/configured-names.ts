import type { RuntimeConfig } from "../../crds/config.ts";
import type { ConfiguredNames } from "../http/routes/me.ts";

/** Matches every tenant, and events without one. */
const noNames = new Set(["*", "-"]);

type NamedConfig = Pick<RuntimeConfig, "partners" | "catalogs" | "quotas">;

/**
 * Names in the applied configuration, for filters, computed once for each.
 * @param current undefined before the first configuration
 */
export function createConfiguredNames(current: () => NamedConfig | undefined): () => ConfiguredNames | undefined {
  const known = new WeakMap<object, ConfiguredNames>();
  return () => {
    const config = current();
    if (config === undefined) return undefined;
    const names = known.get(config) ?? configuredNames(config);
    known.set(config, names);
    return names;
  };
}

function configuredNames({ partners, catalogs, quotas }: NamedConfig): ConfiguredNames {
  const stores = catalogs.flatMap((catalog) => catalog.stores);
  // An older operator compiles catalogs without objectives.
  const objectives = catalogs.flatMap(({ slos = [] }: Partial<(typeof catalogs)[number]>) => slos);
  const clients = quotas.flatMap((quota) => quota.clients);
  const sorted = (names: readonly string[]): readonly string[] =>
    [...new Set(names)].filter((name) => !noNames.has(name)).sort();
  return {
    regions: sorted(stores.map(({ region }) => region)),
    environments: sorted(stores.flatMap(({ environment }) => environment ?? [])),
    metricTenants: sorted([
      ...objectives.flatMap(({ publicTenants }) => publicTenants ?? []),
      ...clients.flatMap(({ tenants }) => tenants ?? []),
    ]),
    partnerTenants: new Map(
      partners.map(({ namespace, name, subscriptions }) => {
        return [`${namespace}/${name}`, sorted(subscriptions.flatMap(({ tenants }) => tenants ?? []))] as const;
      }),
    ),
  };
}
