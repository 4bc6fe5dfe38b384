// The data that a caller may read: the token, the narrowing of its quota, the catalog and the filters of a request
// together. The token itself is checked elsewhere.
import { ApiError, invalidField } from "../../errors/api-error.ts";
import type { CatalogStore, MetricEntry } from "../catalog-index.ts";
import { severalHint, shown } from "../request/known-names.ts";
import type { Filters } from "../request/parameters.ts";
import { type Access, allows, type Caller, type Names, publicReadScope, readScope } from "./access.ts";

/** One metric of a request and the stores that it may be read from. */
export interface GrantedMetric {
  readonly entry: MetricEntry;
  /** Sorted by key; never empty. */
  readonly stores: readonly CatalogStore[];
}

/** The stores and names that a request reads. The planner adds nothing to it and leaves nothing out. */
export interface Grant {
  /** The one tenant of the response. */
  readonly tenant: string;
  /** Environments of the response. */
  readonly environments: Names;
  /** Regions of the response, sorted. */
  readonly regions: readonly string[];
  readonly metrics: readonly GrantedMetric[];
}

/**
 * Intersects access, catalog and filters. The caller's scope is checked before, by {@link requireReadScope} or by the
 * route. Source: seed "Operational Metrics API" §5.
 *
 * @throws ApiError `metric_forbidden`, `role_missing`, `tenant_required`, `tenant_forbidden`,
 *   `environment_forbidden`, `region_forbidden`, or `invalid_filter` when no store remains
 */
export function grant(entries: readonly MetricEntry[], filters: Filters, caller: Caller, access: Access): Grant {
  for (const entry of entries) requireMetric(entry, caller, access);
  const tenant = tenantOf(filters, access.tenants);
  const environments = environmentsOf(filters, access.environments);
  const metrics = entries.map((entry) => ({ entry, stores: storesOf(entry, filters, environments, access.regions) }));
  const regions = [...new Set(metrics.flatMap(({ stores }) => stores.map(({ config: store }) => store.region)))].sort();
  requireScopeOver(regions, metrics);
  requireHeaderTenant(tenant, metrics);
  return { tenant, environments, regions, metrics };
}

/** True when the access allows the metric and, for a sensitive metric, the caller has its role. */
export function mayRead(entry: MetricEntry, caller: Caller, access: Access): boolean {
  return allows(access.metrics, entry.metric.id) && hasRole(entry, caller);
}

/** @throws ApiError `scope_missing` */
export function requireReadScope(caller: Caller): void {
  if (caller.scopes.includes(readScope) || caller.scopes.includes(publicReadScope)) return;
  throw new ApiError("scope_missing", `the token needs the scope ${readScope} or ${publicReadScope}`);
}

/**
 * Selects the one tenant of a request: the named one, else the only one of the caller. Source: seed "Operational
 * Metrics API" §5.2 and §5.7.
 *
 * @param parameter that names the tenant
 * @throws ApiError `tenant_required` without a tenant, or with several to choose from; `tenant_forbidden`
 */
export function tenantOf(filters: Filters, tenants: Names, parameter = "filter[tenant]"): string {
  const tenant = namedTenant(filters, tenants, parameter) ?? onlyTenant(tenants);
  if (tenant !== undefined) return tenant;
  throw invalidField("tenant_required", parameter, `the request has no tenant; add ${parameter}`);
}

/**
 * The tenant that a request names; undefined when it names none, which is allowed where the response is the same for
 * all tenants of the caller.
 *
 * @throws ApiError `tenant_required` when the caller has no tenant; `tenant_forbidden`; `invalid_filter` for several
 */
export function namedTenant(filters: Filters, tenants: Names, parameter = "filter[tenant]"): string | undefined {
  const [named, ...others] = filters.get("tenant") ?? [];
  if (others.length > 0) {
    const detail = `the request has ${others.length + 1} tenants; a response covers one tenant, so select one`;
    throw invalidField("invalid_filter", parameter, detail);
  }
  if (named !== undefined && !allows(tenants, named)) {
    const detail = `this caller is not allowed to read the tenant ${shown(named)}; use a tenant of the token`;
    throw invalidField("tenant_forbidden", parameter, detail);
  }
  if (named === undefined && tenants !== "every" && tenants.size === 0)
    throw invalidField("tenant_required", parameter, "this caller has no tenant; use a token with a tenant");
  return named;
}

function onlyTenant(tenants: Names): string | undefined {
  return tenants === "every" || tenants.size > 1 ? undefined : [...tenants][0];
}

/** Requires the right to read a metric. @throws ApiError `metric_forbidden`, `role_missing` */
export function requireMetric(entry: MetricEntry, caller: Caller, access: Access): void {
  const { id, sensitivity, requiredRole } = entry.metric;
  if (!allows(access.metrics, id)) {
    throw invalidField(
      "metric_forbidden",
      "metric",
      `this caller is not allowed to read the metric ${id}; use a token that allows it`,
    );
  }
  if (!hasRole(entry, caller)) {
    throw invalidField(
      "role_missing",
      "metric",
      `the metric ${id} (${sensitivity}) requires the role ${requiredRole}; use a token with this role`,
    );
  }
}

function hasRole({ metric }: MetricEntry, caller: Caller): boolean {
  if (metric.sensitivity === "none") return true;
  return metric.requiredRole !== undefined && caller.roles.includes(metric.requiredRole);
}

function environmentsOf(filters: Filters, environments: Names): Names {
  const listed = filters.get("environment");
  // A filter of any environment narrows the series, not the rights.
  const named = listed?.length === 0 ? undefined : listed;
  const forbidden = named?.find((one) => !allows(environments, one));
  if (named !== undefined && forbidden === undefined) return new Set(named);
  if (named === undefined && (environments === "every" || environments.size > 0)) return environments;
  const detail =
    forbidden === undefined
      ? "this caller has no environment; use a token with an environment"
      : `this caller is not allowed to read the environment ${written(forbidden)}; use a different one` +
        severalHint("environment", [forbidden]);
  throw invalidField("environment_forbidden", "filter[environment]", detail);
}

function storesOf(entry: MetricEntry, filters: Filters, environments: Names, regions: Names): readonly CatalogStore[] {
  const named = filters.get("region");
  const forbidden = named?.find((one) => !allows(regions, one));
  if (forbidden !== undefined) {
    const detail = `this caller is not allowed to read the region ${shown(forbidden)}; use a different one`;
    throw invalidField("region_forbidden", "filter[region]", detail + severalHint("region", [forbidden]));
  }
  const inEnvironment = entry.stores.filter(
    ({ config: store }) => store.environment === undefined || allows(environments, store.environment),
  );
  const stores = inEnvironment.filter(
    ({ config: store }) => allows(regions, store.region) && (named === undefined || named.includes(store.region)),
  );
  if (stores.length > 0) return stores;
  throw noStore(entry, filters, inEnvironment.length === 0 ? "environment" : "region");
}

/** A value in an error. The empty one is that of series without the label. */
function written(value: string): string {
  return value === "" ? '""' : shown(value);
}

/**
 * Builds the rejection without a store: a filter that matches none is invalid, access that allows none is forbidden.
 */
function noStore({ metric }: MetricEntry, filters: Filters, label: "environment" | "region"): ApiError {
  const field = `filter[${label}]`;
  const values = filters.get(label) ?? [];
  if (values.length > 0) {
    return invalidField(
      "invalid_filter",
      field,
      `no store of ${metric.id} has the ${label} ${values.map(written).join(" or ")}; use a different one` +
        severalHint(label, values),
    );
  }
  const code = `${label}_forbidden` as const;
  return invalidField(
    code,
    field,
    `this caller is not allowed to read any ${label} of ${metric.id}; use a token that allows one`,
  );
}

/** A region or environment that a request names, and that no store of its metrics has. */
interface UnmatchedName {
  readonly label: "region" | "environment";
  readonly value: string;
}

/** The named regions and environments that add nothing to a response. A store of many environments may have any. */
export function unmatchedNames(metrics: readonly GrantedMetric[], filters: Filters): readonly UnmatchedName[] {
  const held = metrics.flatMap(({ stores }) => stores.map(({ config }) => config));
  return (["region", "environment"] as const).flatMap((label) => {
    const names = held.map((store) => store[label]);
    const isKnown = (value: string): boolean => names.includes(undefined) || names.includes(value);
    return (filters.get(label) ?? []).filter((value) => !isKnown(value)).map((value) => ({ label, value }));
  });
}

/** Requires a store for every named region and environment: without one, totals would be too low. @throws ApiError */
export function requireMatches(metrics: readonly GrantedMetric[], filters: Filters): void {
  const [unmatched] = unmatchedNames(metrics, filters);
  if (unmatched === undefined) return;
  const { label, value } = unmatched;
  const ids = metrics.map(({ entry }) => entry.metric.id).join(" or ");
  const detail = `no store of ${ids} has the ${label} ${shown(value)}; use a different one`;
  throw invalidField("invalid_filter", `filter[${label}]`, detail + severalHint(label, [value]));
}

/** A tenant in a request header must be one name; a store must not read several in it. Source: Mimir, "Tenant IDs". */
const headerTenant = /^(?!\.{1,2}$)[\w!.*'()-]{1,150}$/u;

function requireHeaderTenant(tenant: string, metrics: readonly GrantedMetric[]): void {
  const isInHeader = metrics.some(({ stores }) => stores.some(({ config: store }) => store.tenancy === "StoreHeader"));
  if (!isInHeader || headerTenant.test(tenant)) return;
  throw invalidField(
    "invalid_filter",
    "filter[tenant]",
    `the tenant ${shown(tenant)} cannot be sent in a header to a store; use a tenant of letters and digits`,
  );
}

/**
 * Requires that the compliance scope of every metric lists all regions of a query over several regions.
 *
 * @throws ApiError `region_forbidden`
 */
export function requireScopeOver(regions: readonly string[], metrics: readonly Pick<GrantedMetric, "entry">[]): void {
  if (regions.length <= 1) return;
  const outside = metrics.find(({ entry }) => {
    const listed = entry.metric.complianceScope?.regions ?? [];
    return !regions.every((region) => listed.includes(region));
  });
  if (outside === undefined) return;
  const { id } = outside.entry.metric;
  const detail = `${id} cannot be combined across ${regions.join(", ")}; select one region with filter[region]`;
  throw invalidField("region_forbidden", "filter[region]", detail);
}
