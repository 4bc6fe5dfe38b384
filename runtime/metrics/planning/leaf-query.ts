// Turns leaves into closed queries, by the same rules as native queries, and applies the rules over all leaves
// together: one tenant, one query class, and the compliance scope of all regions.
import { seriesMax } from "../../../api/queries.ts";
import { Refusal, refuseField } from "../../errors/refusal.ts";
import { accessOf, classOf, type Access, type QueryClassGrant } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { grant, requireReadScope, requireScopeOver } from "../authorization/policy.ts";
import { refuseSunset } from "../catalog/deprecation.ts";
import type { MetricEntry } from "../catalog/catalog-index.ts";
import { leavesMax, type Leaf, type LeavesRequest } from "../leaves/leaf.ts";
import { leafWindowAt, resolveLeafWindow, type LeafWindow } from "../request/leaf-window.ts";
import { filterValues, readLabel, shown, type Filters } from "../request/parameters.ts";
import { queriedLeaf } from "./queried-leaf.ts";
import { entryOf, ownQuery, smallestStep, type Query, type QueryContext } from "./query.ts";
import { requireLabels } from "./require-labels.ts";
import { schemaVersionOf } from "./schema-version.ts";

/** A leaf as a closed query, and the points of its window that the stamps of the request have. */
export interface LeafQuery extends Pick<LeafWindow, "stamps" | "places"> {
  readonly query: Query;
}

/**
 * Builds the closed query of every leaf. All of them have the slowest class of their metrics.
 *
 * @throws Refusal where a native query of one leaf, or one over all metrics and regions, is refused; `invalid_filter`
 *   when the request names two tenants
 */
export function makeLeaves(
  request: LeavesRequest,
  caller: Caller,
  queryContext: QueryContext,
  nowMs: number,
): readonly LeafQuery[] {
  const { leaves } = request;
  if (leaves.length === 0 || leaves.length > leavesMax) {
    const detail = `the expression reads ${leaves.length} times from metrics; use 1 to ${leavesMax} of them`;
    throw refuseField("invalid_request", "query", detail);
  }
  const entries = leaves.map(({ metric }) => entryOf(metric, queryContext.catalog));
  requireReadScope(caller);
  const access = accessOf(caller, queryContext.quotas);
  const quota = classOf(
    caller,
    entries.map(({ metric }) => metric),
    queryContext.quotas,
  );
  const common = { request, caller, access, quota, nowMs, tenant: tenantOfAll(request) };
  const made = leaves.map((leaf, index) => makeLeaf(leaf, entries[index] as MetricEntry, common));
  requireScopeOver(
    [...new Set(made.flatMap(({ query }) => query.regions))].sort(),
    made.flatMap(({ query }) => query.metrics),
  );
  return made;
}

interface Common {
  readonly request: LeavesRequest;
  readonly caller: Caller;
  readonly access: Access;
  readonly quota: QueryClassGrant;
  readonly nowMs: number;
  /** The tenant that the request names. */
  readonly tenant: string | undefined;
}

function makeLeaf(leaf: Leaf, entry: MetricEntry, common: Common): LeafQuery {
  const { request, caller, access, quota, nowMs, tenant } = common;
  const { metric } = entry;
  const filters = filtersOf(leaf, tenant);
  const groupBy = leaf.groupBy.map((name) => readLabel(name, "by", "invalid_group_by"));
  const granted = grant([entry], filters, caller, access);
  requireLabels({ filters, groupBy }, [metric], quota.limits.maxGroupBy);
  const rules = { stepSecondsMin: smallestStep(caller, [metric], quota.limits), limits: quota.limits };
  const { window, stamps, places } = resolveLeafWindow(request.times, leaf.widthSeconds, { ...rules, nowMs });
  const metrics = granted.metrics.map((one) => queriedLeaf(one, leaf.measure));
  refuseSunset([metric], nowMs);
  const schemaVersion = schemaVersionOf([entry], undefined);
  const parts = { metrics, filters, groupBy, window, exemplars: false, schemaVersion, quota };
  return {
    query: {
      ...ownQuery(granted, parts),
      windowAt: leafWindowAt(request.times, leaf.widthSeconds, rules),
      isCompleteRequired: request.isCompleteRequired,
      limit: Math.min(seriesMax, quota.limits.maxSeries),
    },
    stamps,
    places,
  };
}

/** Checks the labels and the values, and adds the tenant of the request. */
function filtersOf({ metric, filters }: Leaf, tenant: string | undefined): Filters {
  const all = new Map([...filters, ...(tenant === undefined ? [] : [["tenant", [tenant]] as const])]);
  const checked = [...all].map(([name, values]) => {
    const field = `${metric}{${shown(name)}}`;
    return [readLabel(name, field, "invalid_filter"), filterValues(values, field)] as const;
  });
  return new Map(checked.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A place of a request that names a tenant. */
interface NamedTenant {
  readonly tenant: string;
  readonly place: string;
}

/** The tenant that the request names; undefined when it names none. @throws Refusal `invalid_filter` for two */
function tenantOfAll({ leaves, tenant }: LeavesRequest): string | undefined {
  const named: readonly NamedTenant[] = [
    ...(tenant === undefined ? [] : [{ tenant, place: "X-Scope-OrgID" }]),
    ...leaves.flatMap(({ metric, filters }) =>
      (filters.get("tenant") ?? []).map((own) => ({ tenant: own, place: `${metric}{tenant}` })),
    ),
  ];
  const [first] = named;
  const other = named.find((one) => one.tenant !== first?.tenant);
  if (first === undefined || other === undefined) return first?.tenant;
  const detail =
    `${first.place} names the tenant ${shown(first.tenant)} and ${other.place} the tenant ${shown(other.tenant)}; ` +
    "name one tenant";
  const errors = [first, other].map(({ place }) => ({ field: place, code: "invalid_filter", detail }));
  throw new Refusal("invalid_filter", detail, { errors });
}
