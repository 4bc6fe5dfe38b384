import type { Aggregation, LabelName, MetricConfig } from "../../../crds/config.ts";
import { ApiError } from "../../errors/api-error.ts";
import { type Access, accessOf, type Caller, classOf } from "../authorization/access.ts";
import { type Grant, grant, namedTenant, requireMatches, requireReadScope, tenantOf } from "../authorization/policy.ts";
import type { MetricEntry } from "../catalog-index.ts";
import type { LookUp } from "../metrics-api.ts";
import { catalogEntry, requireLabels } from "../planning/catalog-entry.ts";
import type { Labels } from "../planning/plan.ts";
import type { QueryContext } from "../planning/query.ts";
import { type Filters, isolationLabels } from "../request/parameters.ts";
import type { Measure, SelectorsRequest } from "../request/selector.ts";

/** The caller, its configuration and the time of one look-up. */
export interface LookUpContext {
  readonly caller: Caller;
  readonly queryContext: QueryContext;
  readonly nowMs: number;
}

/** One metric of a look-up, within the rights of its caller. */
export interface SelectedMetric {
  readonly entry: MetricEntry;
  /** With the tenant that the request names. */
  readonly filters: Filters;
  readonly access: Access;
  /** One over all regions if the metric may be read over them together, else one for each region. */
  readonly grants: readonly Grant[];
  /** The tenants of the response: one, except for a look-up of tenants. */
  readonly tenants: readonly string[];
  /** Why the metric may not be read over all regions together. @default it may */
  readonly apart: ApiError | undefined;
  /** The request means all metrics and names none. */
  readonly isOfAll: boolean;
}

/** Widths of the one point of a look-up, in seconds: few of them, so that look-ups share cached reads. */
const widthsSeconds = [3_600, 6 * 3_600, 24 * 3_600] as const;

/**
 * Resolves the metrics of a look-up against the rights of its caller.
 *
 * @param label whose values are looked up; the tenant needs no named tenant
 * @throws ApiError as a query of each metric does
 */
export function selectMetrics(
  { selectors, tenant, isOfAll = false, requiresMatches = false }: LookUp,
  label: LabelName | undefined,
  { caller, queryContext }: LookUpContext,
): readonly SelectedMetric[] {
  requireReadScope(caller);
  const access = accessOf(caller, queryContext.quotas);
  const selected = selectors.flatMap(({ metric, filters: own }) => {
    const entry = catalogEntry(metric, queryContext.catalog);
    const filters = withTenant(own, tenant);
    requireLabels({ filters, groupBy: [] }, [entry.metric], 0);
    const tenants = label === "tenant" ? tenantsOf(filters, access) : [tenantOf(filters, access.tenants)];
    const named = new Map([...filters, ["tenant", tenants.slice(0, 1)] as const]);
    const granted = isOfAll ? grantsOrNone(entry, named, caller, access) : grantsOf(entry, named, caller, access);
    return granted === undefined ? [] : [{ entry, filters, access, tenants, isOfAll, ...granted }];
  });
  const [first] = selected;
  if (requiresMatches && first !== undefined) {
    const metrics = selected.flatMap(({ grants }) => grants.flatMap((own) => own.metrics));
    requireMatches(metrics, first.filters);
  }
  return selected;
}

type Granted = Pick<SelectedMetric, "grants" | "apart">;

/** The grants of one metric of all; undefined for one without a store that the caller may read. */
function grantsOrNone(entry: MetricEntry, filters: Filters, caller: Caller, access: Access): Granted | undefined {
  try {
    return grantsOf(entry, filters, caller, access);
  } catch (error) {
    if (error instanceof ApiError && ["region_forbidden", "environment_forbidden"].includes(error.code))
      return undefined;
    throw error;
  }
}

/** The selector that finds the groups of a metric: one point over the times of the look-up. */
export function presenceRequest(
  { entry, filters }: SelectedMetric,
  groupBy: readonly LabelName[],
  { startMs, endMs }: LookUp,
  { caller, queryContext, nowMs }: LookUpContext,
): SelectorsRequest {
  const { metric } = entry;
  const { limits } = classOf(caller, [metric], queryContext.quotas);
  const timeMs = Math.min(endMs, nowMs);
  const spanSeconds = (timeMs - startMs) / 1_000;
  const wide = widthsSeconds.find((width) => width >= spanSeconds) ?? widthsSeconds[2];
  const smallest = Math.max(metric.minStepSeconds, limits.minStepSeconds);
  const widthSeconds = Math.max(smallest, Math.min(wide, limits.maxWindowSeconds));
  const selector = {
    metric: metric.id,
    measure: presenceOf(entry),
    filters,
    groupBy: groupBy.toSorted(),
    widthSeconds,
  };
  return { selectors: [selector], times: { timeMs }, tenant: undefined, isCompleteRequired: false };
}

/** Two tenants are rejected where the rights are checked. */
function withTenant(filters: Filters, tenant: string | undefined): Filters {
  if (tenant === undefined) return filters;
  return new Map([...filters, ["tenant", [...new Set([...(filters.get("tenant") ?? []), tenant])].sort()] as const]);
}

function tenantsOf(filters: Filters, { tenants }: Access): readonly string[] {
  const named = namedTenant(filters, tenants);
  if (named !== undefined || tenants === "every") return [tenantOf(filters, tenants)];
  return [...tenants].sort();
}

function grantsOf(entry: MetricEntry, filters: Filters, caller: Caller, access: Access): Granted {
  try {
    return { grants: [grant([entry], filters, caller, access)], apart: undefined };
  } catch (error) {
    if (filters.has("region") || !isOfRegions(error)) throw error;
    const regions = [...new Set(entry.stores.map(({ config: store }) => store.region))].sort();
    const grants = regions.flatMap((region) => grantIn(region, { entry, filters, caller, access }));
    if (grants.length === 0) throw error;
    return { grants, apart: grants.length === 1 ? undefined : error };
  }
}

interface Granting {
  readonly entry: MetricEntry;
  readonly filters: Filters;
  readonly caller: Caller;
  readonly access: Access;
}

/** The grant of one region; none if the caller may not read it, or where no store of it has an environment. */
function grantIn(region: string, { entry, filters, caller, access }: Granting): readonly Grant[] {
  try {
    return [grant([entry], new Map([...filters, ["region", [region]]]), caller, access)];
  } catch (error) {
    if (isOfRegions(error) || (error instanceof ApiError && error.code === "invalid_filter")) return [];
    throw error;
  }
}

function isOfRegions(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === "region_forbidden";
}

/**
 * The values of a label that the configuration and the rights decide without a store: those of the isolation, unless
 * filters of other labels narrow the series. A value can be of no series. Undefined: stores have to be asked.
 */
export function configuredValues(label: LabelName, selected: SelectedMetric): readonly string[] | undefined {
  const { entry, filters, grants, tenants } = selected;
  const hasLabel = entry.metric.labels.includes(label);
  if (!isolationLabels.includes(label)) return hasLabel ? undefined : [];
  if (hasLabel && filters.keys().some((name) => !isolationLabels.includes(name))) return undefined;
  if (label === "region") return grants.flatMap(({ regions }) => regions);
  if (label === "tenant") return storesOf(selected).some(({ tenancy }) => tenancy !== "Platform") ? tenants : [];
  return environmentsOf(selected, hasLabel);
}

function environmentsOf(selected: SelectedMetric, hasLabel: boolean): readonly string[] | undefined {
  const own = storesOf(selected).map(({ environment }) => environment);
  const imposed = own.filter((environment) => environment !== undefined);
  if (imposed.length === own.length) return imposed;
  if (hasLabel) return undefined;
  const { environments } = selected.access;
  const named = selected.filters.get("environment") ?? [];
  if (named.length > 0) return named;
  return environments === "every" ? imposed : [...environments];
}

function storesOf({ grants }: SelectedMetric) {
  return grants.flatMap(({ metrics }) => metrics.flatMap(({ stores }) => stores.map(({ config }) => config)));
}

/** The labels of the series of one metric. */
interface GroupedLabels {
  /** Labels that stores are requested. */
  readonly groupBy: readonly LabelName[];
  /** Labels with one value, which a filter or the tenant decides. */
  readonly fixed: Labels;
  /** The metric has more labels than this caller may group by. */
  readonly isNarrowed: boolean;
}

/** Divides the labels of a metric. Above the limit on grouping, the last ones of the catalog are left out. */
export function groupedLabels(
  { entry: { metric }, filters, grants, tenants }: SelectedMetric,
  { caller, queryContext }: LookUpContext,
): GroupedLabels {
  const { limits } = classOf(caller, [metric], queryContext.quotas);
  const hasTenant = grants.every(({ metrics }) =>
    metrics.every(({ stores }) => stores.every(({ config }) => config.tenancy !== "Platform")),
  );
  const known = new Map([...filters, ...(hasTenant ? [["tenant", tenants] as const] : [])]);
  const fixed = metric.labels.flatMap((label) => {
    const values = label === "tenant" && !hasTenant ? [] : (known.get(label) ?? []);
    return values.length === 1 ? [[label, values[0]] as const] : [];
  });
  const open = metric.labels.filter((label) => !fixed.some(([name]) => name === label));
  const groupBy = open.slice(0, Math.min(metric.maxGroupBy, limits.maxGroupBy));
  const present = fixed.filter(([, value]) => value !== "");
  return { groupBy, fixed: Object.fromEntries(present) as Labels, isNarrowed: groupBy.length < open.length };
}

/** Aggregations that one read of each store answers, the ones that see most series first. */
const cheapest: Readonly<Partial<Record<MetricConfig["source"]["kind"], readonly Aggregation[]>>> = {
  gauge: ["max", "min", "sum"],
  counter: ["sum"],
};

/** The cheapest measure with a value wherever a series has samples. The metric offers it to queries. */
export function presenceOf({ metric, slos }: Pick<MetricEntry, "metric" | "slos">): Measure {
  const { source, aggregations, defaultAggregation } = metric;
  const own = cheapest[source.kind];
  if (own === undefined && (aggregations.includes("avg") || slos.length > 0)) return { kind: "count" };
  const aggregation = own?.find((one) => aggregations.includes(one)) ?? defaultAggregation;
  return { kind: "aggregation", aggregation };
}
