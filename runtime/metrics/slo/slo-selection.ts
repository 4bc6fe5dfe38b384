import type { LabelName, RuntimeConfig } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import { accessOf, type Access } from "../authorization/access.ts";
import { publicReadScope, type Caller } from "../authorization/caller.ts";
import type { CatalogStore } from "../catalog/catalog-index.ts";
import { isPastSunset } from "../catalog/deprecation.ts";
import { forbiddenValue } from "../request/forbidden-labels.ts";
import { type Filters, type Parameters, readOne, refuseUnknown, shown } from "../request/parameters.ts";
import { allows } from "../authorization/names.ts";
import { grant, mayRead, requireReadScope, tenantOf, type Grant } from "../authorization/policy.ts";
import { schemaVersionOf } from "../planning/schema-version.ts";
import type { SloEntry } from "./slo-index.ts";

/** One view of an objective: over all its regions together where the catalog permits it, else over one region. */
export interface SloView extends SloEntry {
  readonly grant: Grant;
}

/** The objectives of one request. */
interface SloSelection {
  readonly views: readonly SloView[];
  /** Set for a caller without a token: the response is public. */
  readonly isPublic: boolean;
  readonly schemaVersion: string;
}

/** The configuration that a request is resolved against. */
interface SloContext {
  readonly slos: readonly SloEntry[];
  readonly quotas: Pick<RuntimeConfig, "quotas" | "classDefaults">;
}

const isolationNames = ["region", "tenant", "environment"] as const;
const names: readonly string[] = ["domain", "slo", "schema_version", ...isolationNames];

/**
 * Selects the objectives of metrics that the caller may read, narrowed by `domain`, `slo`, `region`, `environment` and
 * `tenant`. A caller without a token sees the public objectives of the tenant that it names. Source: seed "Operational
 * Metrics API" §4.5 and §5.
 *
 * @throws Refusal for an unknown or invalid parameter, and for a tenant or region that is not allowed to the caller
 */
export function selectSlos(params: Parameters, caller: Caller, queryContext: SloContext, nowMs: number): SloSelection {
  refuseUnknown(
    params,
    (name) => names.includes(name),
    names,
    (label, value) => `${label}=${value}`,
  );
  const isPublic = caller.scopes.length === 0;
  const filters = readIsolation(params);
  const viewer = isPublic ? publicViewer(tenantOf(filters, "every", "tenant")) : caller;
  requireReadScope(viewer);
  const access = accessOf(viewer, queryContext.quotas);
  const tenant = tenantOf(filters, access.tenants, "tenant");
  requireRegion(filters, access);
  const [domain, name] = [readOne(params, "domain"), readOne(params, "slo")];
  const wanted = queryContext.slos.filter(
    ({ slo, entry }) =>
      slo.domain === (domain ?? slo.domain) &&
      slo.name === (name ?? slo.name) &&
      (!isPublic || isPublicFor(slo, tenant)) &&
      mayRead(entry, viewer, access) &&
      !isPastSunset(entry.metric, nowMs),
  );
  return {
    views: wanted.flatMap((entry) => viewsOf(entry, filters, viewer, access)),
    isPublic,
    schemaVersion: schemaVersionOf(
      wanted.map(({ entry }) => entry),
      readOne(params, "schema_version"),
    ),
  };
}

function readIsolation(params: Parameters): Filters {
  const filters = new Map<LabelName, readonly string[]>();
  for (const name of isolationNames) {
    const value = readOne(params, name, "invalid_filter");
    const fault = value === undefined ? undefined : forbiddenValue(value);
    if (fault !== undefined) throw refuseField("invalid_filter", name, `the value of ${name} ${fault}`);
    if (value !== undefined) filters.set(name, [value]);
  }
  return filters;
}

/** Callers without a token: one tenant and no roles, so that sensitive metrics are excluded. */
function publicViewer(tenant: string): Caller {
  const all = { regions: ["*"], environments: ["*"], metrics: ["*"] };
  return { client: "public", tenants: [tenant], ...all, roles: [], scopes: [publicReadScope] };
}

function isPublicFor(slo: SloEntry["slo"], tenant: string): boolean {
  return slo.public && (slo.publicTenants?.includes(tenant) ?? false);
}

function requireRegion(filters: Filters, { regions }: Access): void {
  const requested = filters.get("region")?.[0];
  if (requested === undefined || allows(regions, requested)) return;
  throw refuseField(
    "region_forbidden",
    "region",
    `the region ${shown(requested)} is not allowed to this caller; name another one`,
  );
}

/**
 * One view over all regions where the metric may be read over them together, else one for each region. A region has
 * none without a selected and permitted store, or with stores that count increases by different rules.
 */
function viewsOf(entry: SloEntry, filters: Filters, viewer: Caller, access: Access): readonly SloView[] {
  const stores = storesOf(entry, filters, access);
  const regions = [...new Set(stores.map(({ config: store }) => store.region))].sort();
  const listed = entry.entry.metric.complianceScope?.regions ?? [];
  if (regions.length > 1 && regions.every((region) => listed.includes(region)) && countAlike(stores)) {
    return [{ ...entry, grant: grant([entry.entry], filters, viewer, access) }];
  }
  return regions
    .filter((region) => countAlike(stores.filter(({ config: store }) => store.region === region)))
    .map((region) => ({
      ...entry,
      grant: grant([entry.entry], new Map([...filters, ["region", [region]]]), viewer, access),
    }));
}

function storesOf({ entry }: SloEntry, filters: Filters, access: Access): readonly CatalogStore[] {
  const [region, environment] = [filters.get("region")?.[0], filters.get("environment")?.[0]];
  return entry.stores.filter(({ config: store }) => {
    const isInRegion = store.region === (region ?? store.region) && allows(access.regions, store.region);
    if (store.environment === undefined) return isInRegion;
    return (
      isInRegion &&
      store.environment === (environment ?? store.environment) &&
      allows(access.environments, store.environment)
    );
  });
}

/** Tests if all stores compute increases by one rule, since an objective never mixes two. */
function countAlike(stores: readonly CatalogStore[]): boolean {
  return new Set(stores.map(({ config: store }) => traitsOf(store).increases)).size === 1;
}
