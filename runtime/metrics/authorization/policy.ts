import type { LabelName } from "../../../crds/config.ts";
import { Refusal, refuseField } from "../../errors/refusal.ts";
import type { Access } from "./access.ts";
import { publicReadScope, readScope, type Caller } from "./caller.ts";
import type { CatalogStore, MetricEntry } from "../catalog/catalog-index.ts";
import { allows, type Names } from "./names.ts";
import { shown } from "../request/parameters.ts";

/** One metric of a request and the stores that may answer for it. */
export interface GrantedMetric {
  readonly entry: MetricEntry;
  /** By key; never empty. */
  readonly stores: readonly CatalogStore[];
}

/** What a request may really read. The planner adds nothing to it and leaves nothing of it out. */
export interface Grant {
  /** The one tenant of the answer. */
  readonly tenant: string;
  /** Environments of the answer. */
  readonly environments: Names;
  /** Regions of the answer, sorted. */
  readonly regions: readonly string[];
  readonly metrics: readonly GrantedMetric[];
}

type Filters = ReadonlyMap<LabelName, string>;

/**
 * Token ∩ narrowing ∩ catalog ∩ filters. Source: seed "Operational Metrics API" §5, design §5 "Regions".
 *
 * @throws Refusal `metric_forbidden`, `role_missing`, `tenant_required`, `tenant_forbidden`,
 *   `environment_forbidden`, `region_forbidden`, or `invalid_filter` when no store is left
 */
export function grant(entries: readonly MetricEntry[], filters: Filters, caller: Caller, access: Access): Grant {
  for (const entry of entries) requireMetric(entry, caller, access);
  const tenant = tenantOf(filters, access.tenants);
  const environments = environmentsOf(filters, access.environments);
  const metrics = entries.map((entry) => ({ entry, stores: storesOf(entry, filters, environments, access.regions) }));
  const regions = [...new Set(metrics.flatMap(({ stores }) => stores.map(({ config: store }) => store.region)))].sort();
  requireScopeOver(regions, metrics);
  requireTellable(tenant, metrics);
  return { tenant, environments, regions, metrics };
}

/** Whether a caller may know of a metric: by its grants, and by its role where the metric is sensitive. */
export function mayRead(entry: MetricEntry, caller: Caller, access: Access): boolean {
  return allows(access.metrics, entry.metric.id) && hasRole(entry, caller);
}

/** @throws Refusal `scope_missing` */
export function requireReadScope(caller: Caller): void {
  if (caller.scopes.includes(readScope) || caller.scopes.includes(publicReadScope)) return;
  throw new Refusal("scope_missing", `the token has neither ${readScope} nor ${publicReadScope}`);
}

/**
 * The one tenant of a request. Source: seed "Operational Metrics API" §5.2 and §5.7.
 *
 * @param parameter that names the tenant
 * @throws Refusal `tenant_required` without a tenant, or with several to choose from; `tenant_forbidden`
 */
export function tenantOf(filters: Filters, tenants: Names, parameter = "filter[tenant]"): string {
  const tenant = namedTenant(filters, tenants, parameter) ?? onlyTenant(tenants);
  if (tenant !== undefined) return tenant;
  throw refuseField("tenant_required", parameter, `the request names no tenant; name one with ${parameter}`);
}

/**
 * The tenant that a request names; undefined when it names none, which is allowed where the response is the same for
 * all tenants of the caller.
 *
 * @throws Refusal `tenant_required` when the caller has no tenant; `tenant_forbidden`
 */
export function namedTenant(filters: Filters, tenants: Names, parameter = "filter[tenant]"): string | undefined {
  const named = filters.get("tenant");
  if (named !== undefined && !allows(tenants, named)) {
    const detail = `the tenant ${shown(named)} is not allowed to this caller; name a tenant of the token`;
    throw refuseField("tenant_forbidden", parameter, detail);
  }
  if (named === undefined && tenants !== "every" && tenants.size === 0) {
    throw refuseField("tenant_required", parameter, "no tenant is allowed to this caller; use a token with a tenant");
  }
  return named;
}

function onlyTenant(tenants: Names): string | undefined {
  return tenants === "every" || tenants.size > 1 ? undefined : [...tenants][0];
}

function requireMetric(entry: MetricEntry, caller: Caller, access: Access): void {
  const { id, sensitivity, requiredRole } = entry.metric;
  if (!allows(access.metrics, id)) {
    throw refuseField("metric_forbidden", "metric", `the metric ${id} is not allowed to this caller`);
  }
  if (!hasRole(entry, caller)) {
    throw refuseField("role_missing", "metric", `the metric ${id} (${sensitivity}) needs the role ${requiredRole}`);
  }
}

function hasRole({ metric }: MetricEntry, caller: Caller): boolean {
  if (metric.sensitivity === "none") return true;
  return metric.requiredRole !== undefined && caller.roles.includes(metric.requiredRole);
}

function environmentsOf(filters: Filters, environments: Names): Names {
  const asked = filters.get("environment");
  if (asked !== undefined && allows(environments, asked)) return new Set([asked]);
  if (asked === undefined && (environments === "every" || environments.size > 0)) return environments;
  const detail = asked === undefined ? "no environment is" : `the environment ${shown(asked)} is not`;
  throw refuseField("environment_forbidden", "filter[environment]", `${detail} allowed to this caller`);
}

function storesOf(entry: MetricEntry, filters: Filters, environments: Names, regions: Names): readonly CatalogStore[] {
  const asked = filters.get("region");
  if (asked !== undefined && !allows(regions, asked)) {
    const detail = `the region ${shown(asked)} is not allowed to this caller`;
    throw refuseField("region_forbidden", "filter[region]", detail);
  }
  const inEnvironment = entry.stores.filter(
    ({ config: store }) => store.environment === undefined || allows(environments, store.environment),
  );
  const stores = inEnvironment.filter(
    ({ config: store }) => allows(regions, store.region) && (asked === undefined || store.region === asked),
  );
  if (stores.length > 0) return stores;
  throw noStore(entry, filters, inEnvironment.length === 0 ? "environment" : "region");
}

/** Nothing is left: by the caller's own filter that is a mistake, by the caller's grants it is forbidden. */
function noStore({ metric }: MetricEntry, filters: Filters, label: "environment" | "region"): Refusal {
  const field = `filter[${label}]`;
  if (filters.has(label)) return refuseField("invalid_filter", field, `no store of ${metric.id} has this ${label}`);
  const code = `${label}_forbidden` as const;
  return refuseField(code, field, `no ${label} of ${metric.id} is allowed to this caller`);
}

/**
 * A tenant that is told in a header must be one name there, in which no store sees several. Source: Mimir, "Tenant
 * IDs".
 */
const tellableTenant = /^(?!\.{1,2}$)[\w!.*'()-]{1,150}$/u;

function requireTellable(tenant: string, metrics: readonly GrantedMetric[]): void {
  const isTold = metrics.some(({ stores }) => stores.some(({ config: store }) => store.tenancy === "StoreHeader"));
  if (!isTold || tellableTenant.test(tenant)) return;
  throw refuseField(
    "invalid_filter",
    "filter[tenant]",
    `the tenant ${shown(tenant)} is none that a store can be asked for`,
  );
}

/**
 * @throws Refusal `region_forbidden`. Source: wire, "More than one region in a query needs an aggregate whose
 * complianceScope lists those regions".
 */
export function requireScopeOver(regions: readonly string[], metrics: readonly Pick<GrantedMetric, "entry">[]): void {
  if (regions.length <= 1) return;
  const outside = metrics.find(({ entry }) => {
    const listed = entry.metric.complianceScope?.regions ?? [];
    return !regions.every((region) => listed.includes(region));
  });
  if (outside === undefined) return;
  const { id } = outside.entry.metric;
  const detail = `${id} may not be read over ${regions.join(", ")} at once; ask one with filter[region]`;
  throw refuseField("region_forbidden", "filter[region]", detail);
}
