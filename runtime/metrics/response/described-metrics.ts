import { accessOf, classOf } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { mayRead, namedTenant, requireMetric, requireReadScope } from "../authorization/policy.ts";
import type { MetricEntry } from "../catalog/catalog-index.ts";
import { isPastSunset } from "../catalog/deprecation.ts";
import type { CatalogReader, DescribedMetric } from "../metrics-api.ts";
import type { QueryContext } from "../planning/query.ts";
import type { Filters } from "../request/parameters.ts";

/** The thresholds of the SLOs of each metric, by its id. */
export type Thresholds = ReadonlyMap<string, readonly number[]>;

/**
 * The metrics that a caller may read, by id, until their sunset.
 *
 * @throws Refusal `scope_missing`, `tenant_required`, `tenant_forbidden`
 */
export function readableMetrics(
  { caller, tenant, nowMs }: CatalogReader,
  { catalog, quotas }: QueryContext,
  thresholds: Thresholds,
): ReadonlyMap<string, DescribedMetric> {
  const access = accessOf(caller, quotas);
  requireReadScope(caller);
  namedTenant(tenantFilter(tenant), access.tenants, "X-Scope-OrgID");
  const entries = [...catalog.values()].filter(
    (entry) => mayRead(entry, caller, access) && !isPastSunset(entry.metric, nowMs),
  );
  return new Map(entries.map((entry) => [entry.metric.id, described(entry, caller, { quotas, thresholds })]));
}

/** One metric; undefined when no catalog has it. @throws Refusal `metric_forbidden`, `role_missing` */
export function describeMetric(
  id: string,
  caller: Caller,
  { catalog, quotas }: QueryContext,
  thresholds: Thresholds,
): DescribedMetric | undefined {
  const entry = catalog.get(id);
  if (entry === undefined) return undefined;
  requireMetric(entry, caller, accessOf(caller, quotas));
  return described(entry, caller, { quotas, thresholds });
}

function tenantFilter(tenant: string | undefined): Filters {
  return new Map(tenant === undefined ? [] : [["tenant", [tenant]]]);
}

interface Describing extends Pick<QueryContext, "quotas"> {
  readonly thresholds: Thresholds;
}

function described({ metric }: MetricEntry, caller: Caller, { quotas, thresholds }: Describing): DescribedMetric {
  const { maxWindowSeconds } = classOf(caller, [metric], quotas).limits;
  return { metric, thresholds: thresholds.get(metric.id) ?? [], maxWindowSeconds };
}
