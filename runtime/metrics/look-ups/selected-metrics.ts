import type { LabelName } from "../../../crds/config.ts";
import { Refusal } from "../../errors/refusal.ts";
import { accessOf, classOf, type Access } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { grant, namedTenant, requireMatches, requireReadScope, tenantOf, type Grant } from "../authorization/policy.ts";
import type { MetricEntry } from "../catalog/catalog-index.ts";
import type { LeavesRequest } from "../leaves/leaf.ts";
import type { LookUp } from "../metrics-api.ts";
import { entryOf, type QueryContext } from "../planning/query.ts";
import { requireLabels } from "../planning/require-labels.ts";
import type { Filters } from "../request/parameters.ts";
import { presenceOf } from "./presence.ts";

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
  /** One over all regions where the metric may be read over them together, else one for each region. */
  readonly grants: readonly Grant[];
  /** The tenants of the response: one, but for a look-up of tenants. */
  readonly tenants: readonly string[];
  /** Why the metric may not be read over all regions together. @default it may */
  readonly apart: Refusal | undefined;
  /** The request means all metrics and names none. */
  readonly isOfAll: boolean;
}

/** Widths of the one point of a look-up, in seconds: few of them, so that look-ups share cached reads. */
const widthsSeconds = [3_600, 6 * 3_600, 24 * 3_600] as const;

/**
 * Resolves the metrics of a look-up against the rights of its caller.
 *
 * @param label whose values are looked up; the tenant needs no named tenant
 * @throws Refusal as a query of each metric does
 */
export function selectMetrics(
  { selectors, tenant, isOfAll = false, requiresMatches = false }: LookUp,
  label: LabelName | undefined,
  { caller, queryContext }: LookUpContext,
): readonly SelectedMetric[] {
  requireReadScope(caller);
  const access = accessOf(caller, queryContext.quotas);
  const selected = selectors.flatMap(({ metric, filters: own }) => {
    const entry = entryOf(metric, queryContext.catalog);
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
    if (error instanceof Refusal && ["region_forbidden", "environment_forbidden"].includes(error.code))
      return undefined;
    throw error;
  }
}

/** The leaf that finds the groups of a metric: one point over the times of the look-up. */
export function presenceRequest(
  { entry, filters }: SelectedMetric,
  groupBy: readonly LabelName[],
  { startMs, endMs }: LookUp,
  { caller, queryContext, nowMs }: LookUpContext,
): LeavesRequest {
  const { metric } = entry;
  const { limits } = classOf(caller, [metric], queryContext.quotas);
  const timeMs = Math.min(endMs, nowMs);
  const spanSeconds = (timeMs - startMs) / 1_000;
  const wide = widthsSeconds.find((width) => width >= spanSeconds) ?? widthsSeconds[2];
  const smallest = Math.max(metric.minStepSeconds, limits.minStepSeconds);
  const widthSeconds = Math.max(smallest, Math.min(wide, limits.maxWindowSeconds));
  const leaf = { metric: metric.id, measure: presenceOf(entry), filters, groupBy: groupBy.toSorted(), widthSeconds };
  return { leaves: [leaf], times: { timeMs }, tenant: undefined, isCompleteRequired: false };
}

/** Two tenants are refused where the rights are checked. */
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

/** The grant of one region; none where the caller may not read it, or where no store of it has an environment. */
function grantIn(region: string, { entry, filters, caller, access }: Granting): readonly Grant[] {
  try {
    return [grant([entry], new Map([...filters, ["region", [region]]]), caller, access)];
  } catch (error) {
    if (isOfRegions(error) || (error instanceof Refusal && error.code === "invalid_filter")) return [];
    throw error;
  }
}

function isOfRegions(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code === "region_forbidden";
}
