import type { CatalogConfig, LabelName, RuntimeConfig, SloConfig } from "../../../crds/config.ts";
import { didYouMean } from "../../errors/near-names.ts";
import { ApiError, invalidField } from "../../errors/api-error.ts";
import { traitsOf } from "../../stores/prometheus/prometheus-client.ts";
import { type Access, accessOf, allows, type Caller, publicReadScope } from "../authorization/access.ts";
import { type Grant, grant, mayRead, requireReadScope, tenantOf } from "../authorization/policy.ts";
import { type CatalogIndex, type CatalogStore, type MetricEntry, objectivesOf } from "../catalog-index.ts";
import { isPastSunset, schemaVersionOf } from "../planning/catalog-entry.ts";
import { shown } from "../request/known-names.ts";
import { type Filters, forbiddenValue, type Parameters, readOne, rejectUnknown } from "../request/parameters.ts";

/** One view of an objective: over all its regions together if the catalog permits it, else over one region. */
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
 * @throws ApiError for an unknown or invalid parameter, for a tenant or region that is not allowed to the caller, and
 *   for a name, domain, region or environment that none of the objectives has
 */
export function selectSlos(params: Parameters, caller: Caller, queryContext: SloContext, nowMs: number): SloSelection {
  rejectUnknown(
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
  const visible = queryContext.slos.filter(
    ({ slo, entry }) =>
      (!isPublic || isPublicFor(slo, tenant)) && mayRead(entry, viewer, access) && !isPastSunset(entry.metric, nowMs),
  );
  const wanted = namedOf(visible, domain, name);
  const stores = wanted.map((entry) => storesOf(entry, filters, access));
  if (wanted.length > 0 && stores.every((own) => own.length === 0)) requireNoPlace(filters);
  return {
    views: wanted.flatMap((entry, index) => viewsOf(entry, stores[index] ?? [], { filters, viewer, access })),
    isPublic,
    schemaVersion: schemaVersionOf(
      wanted.map(({ entry }) => entry),
      readOne(params, "schema_version"),
    ),
  };
}

/**
 * The objectives of a domain and a name. A caller without any objective gets an empty list, so that it learns nothing
 * about those of others.
 *
 * @throws ApiError `not_found` for a name, and `invalid_filter` for a domain, that no visible objective has
 */
function namedOf(
  visible: readonly SloEntry[],
  domain: string | undefined,
  name: string | undefined,
): readonly SloEntry[] {
  const ofDomain = visible.filter(({ slo }) => slo.domain === (domain ?? slo.domain));
  if (domain !== undefined && ofDomain.length === 0 && visible.length > 0) {
    const near = didYouMean(domain, new Set(visible.map(({ slo }) => slo.domain)));
    const detail = `no objective visible to this caller has the domain ${shown(domain)}`;
    throw invalidField("invalid_filter", "domain", `${detail}; ${near}use a different one`);
  }
  const wanted = ofDomain.filter(({ slo }) => slo.name === (name ?? slo.name));
  if (name === undefined || wanted.length > 0) return wanted;
  const near = didYouMean(name, new Set(ofDomain.map(({ slo }) => slo.name))).trimEnd();
  throw new ApiError("not_found", `The objective ${shown(name)} does not exist${near === "" ? "." : `; ${near}`}`);
}

/** Rejects a region or environment that no store of any objective has. @throws ApiError `invalid_filter` */
function requireNoPlace(filters: Filters): void {
  const named = (["region", "environment"] as const).filter((label) => filters.has(label));
  const [field] = named;
  if (field === undefined) return;
  const place = named.map((label) => `the ${label} ${shown(filters.get(label)?.join() ?? "")}`).join(" and ");
  const detail = `no store of these objectives has ${place}; use a different one`;
  throw invalidField("invalid_filter", field, detail);
}

function readIsolation(params: Parameters): Filters {
  const filters = new Map<LabelName, readonly string[]>();
  for (const name of isolationNames) {
    const value = readOne(params, name, "invalid_filter");
    const fault = value === undefined ? undefined : forbiddenValue(value);
    if (fault !== undefined) throw invalidField("invalid_filter", name, `the value of ${name} ${fault}`);
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
  throw invalidField(
    "region_forbidden",
    "region",
    `this caller is not allowed to read the region ${shown(requested)}; use a different one`,
  );
}

/**
 * One view over all regions if the metric may be read over them together, else one for each region. A region has
 * none without a selected and permitted store, or with stores that count increases by different rules.
 */
function viewsOf(
  entry: SloEntry,
  stores: readonly CatalogStore[],
  { filters, viewer, access }: { readonly filters: Filters; readonly viewer: Caller; readonly access: Access },
): readonly SloView[] {
  const regions = [...new Set(stores.map(({ config: store }) => store.region))].sort();
  const listed = entry.entry.metric.complianceScope?.regions ?? [];
  if (regions.length > 1 && regions.every((region) => listed.includes(region)) && countAlike(stores))
    return [{ ...entry, grant: grant([entry.entry], filters, viewer, access) }];
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

/** An objective and its metric. */
export interface SloEntry {
  readonly slo: SloConfig;
  readonly entry: MetricEntry;
}

/** Indexes every objective, sorted by domain, name and metric. */
export function indexSlos(catalogs: readonly CatalogConfig[], metrics: CatalogIndex): readonly SloEntry[] {
  return catalogs
    .flatMap(objectivesOf)
    .flatMap((slo): readonly SloEntry[] => {
      const entry = metrics.get(slo.metric);
      return entry === undefined ? [] : [{ slo, entry }];
    })
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The sort key. None of its parts has a character below the hyphen. */
function keyOf({ slo }: SloEntry): string {
  return [slo.domain, slo.name, slo.metric].join(" ");
}
