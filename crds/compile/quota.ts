import type { ClientConfig, QuotaConfig } from "../config.ts";
import type { QueryClassQuota } from "../resource.ts";
import type { QueryClassQuotaClient } from "../types/query-class-quota.ts";
import { byText } from "./canonical-json.ts";
import { classDefaults } from "./class-defaults.ts";
import { originOf } from "./origin.ts";

/** Compiles one quota. A limit that it leaves open is the built-in one of its class, independent of other quotas. */
export function compileQuota(resource: QueryClassQuota): QuotaConfig {
  const { class: queryClass, limits, cache, perMetric, clients } = resource.spec;
  const own = { ...classDefaults[queryClass], ...limits, ...cache };
  return {
    ...originOf(resource),
    class: queryClass,
    // A built-in lifetime is never longer than the quota's own lifetimes allow.
    limits: {
      ...own,
      hotTailSeconds: Math.min(own.hotTailSeconds, own.memorySeconds),
      distributedSeconds: own.memorySeconds === 0 ? 0 : (own.distributedSeconds ?? 0),
      staleWhileRevalidateSeconds: own.memorySeconds === 0 ? 0 : (own.staleWhileRevalidateSeconds ?? 0),
    },
    perMetric: perMetric.toSorted((one, other) => byText(one.metric, other.metric)),
    clients: clients.map(compileClient).sort((one, other) => byText(keyOf(one), keyOf(other))),
  };
}

function compileClient(client: QueryClassQuotaClient): ClientConfig {
  const { clientId, scope, tenants, regions, environments, metrics } = client;
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(scope === undefined ? {} : { scope }),
    tenants: tenants.toSorted(byText),
    regions: regions.toSorted(byText),
    environments: environments.toSorted(byText),
    metrics: metrics.toSorted(byText),
  };
}

/** Client ids first, then scopes. */
function keyOf({ clientId, scope = "" }: ClientConfig): string {
  return clientId === undefined ? `1${scope}` : `0${clientId}`;
}
