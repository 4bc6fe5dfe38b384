import { ApiError, invalidField } from "../../errors/api-error.ts";
import { type Access, accessOf, type Caller, classOf, type QueryClassGrant } from "../authorization/access.ts";
import { grant, type GrantedMetric, requireReadScope, requireScopeOver } from "../authorization/policy.ts";
import type { MetricEntry } from "../catalog-index.ts";
import { eventCountRecipe, eventFractionRecipe, measureError } from "../promql/event-recipes.ts";
import { shown } from "../request/known-names.ts";
import { type Filters, queryLimits, readLabel } from "../request/parameters.ts";
import {
  resolveSelectorWindow,
  resolveSlices,
  type SelectorWindow,
  selectorWindowAt,
  sliceWindowAt,
  timesBefore,
} from "../request/selector-window.ts";
import {
  matchedValues,
  type Measure,
  type MetricSelector,
  type SelectorSlices,
  selectorsMax,
  type SelectorsRequest,
} from "../request/selector.ts";
import { catalogEntry, rejectSunset, requireLabels, schemaVersionOf } from "./catalog-entry.ts";
import {
  type EventsMeasure,
  ownQuery,
  type QueriedMetric,
  queriedMetric,
  type Query,
  type QueryContext,
  requireOneRule,
  smallestStep,
} from "./query.ts";

/** A selector as a closed query, and the points of its window that the stamps of the request have. */
export interface SelectorQuery extends Pick<SelectorWindow, "stamps" | "places"> {
  readonly query: Query;
  /** Judges the points. @default the points are the result */
  readonly slices?: SelectorSlices;
}

/**
 * Builds the closed query of every selector. All of them have the slowest class of their metrics.
 *
 * @throws ApiError if a native query of one selector, or one over all metrics and regions, is rejected;
 * `invalid_filter`
 *   when the request names two tenants
 */
export function makeSelectorQueries(
  request: SelectorsRequest,
  caller: Caller,
  queryContext: QueryContext,
  nowMs: number,
): readonly SelectorQuery[] {
  const { selectors } = request;
  if (selectors.length === 0 || selectors.length > selectorsMax) {
    const detail = `the expression has ${selectors.length} selectors; use 1 to ${selectorsMax}`;
    throw invalidField("invalid_request", "query", detail);
  }
  const entries = selectors.map(({ metric }) => catalogEntry(metric, queryContext.catalog));
  requireReadScope(caller);
  const access = accessOf(caller, queryContext.quotas);
  const quota = classOf(
    caller,
    entries.map(({ metric }) => metric),
    queryContext.quotas,
  );
  const common = { request, caller, access, quota, nowMs, tenant: tenantOfAll(request) };
  const made = selectors.map((selector, index) => makeSelectorQuery(selector, entries[index] as MetricEntry, common));
  requireScopeOver(
    [...new Set(made.flatMap(({ query }) => query.regions))].sort(),
    made.flatMap(({ query }) => query.metrics),
  );
  return made;
}

interface Common {
  readonly request: SelectorsRequest;
  readonly caller: Caller;
  readonly access: Access;
  readonly quota: QueryClassGrant;
  readonly nowMs: number;
  /** The tenant that the request names. */
  readonly tenant: string | undefined;
}

function makeSelectorQuery(selector: MetricSelector, entry: MetricEntry, common: Common): SelectorQuery {
  const { request, caller, access, quota, nowMs, tenant } = common;
  const { metric } = entry;
  const filters = filtersOf(selector, tenant);
  const groupBy = selector.groupBy.map((name) => readLabel(name, "by", "invalid_group_by"));
  const granted = grant([entry], filters, caller, access);
  requireLabels({ filters, groupBy }, [metric], quota.limits.maxGroupBy);
  const rules = { stepSecondsMin: smallestStep(caller, [metric], quota.limits), limits: quota.limits };
  const { slices, widthSeconds, offsetSeconds } = selector;
  const timesAt = (atMs: number) => timesBefore(request.times, offsetSeconds, atMs);
  const { window, stamps, places } =
    slices === undefined
      ? resolveSelectorWindow(timesAt(nowMs), widthSeconds, { ...rules, nowMs })
      : resolveSlices(request.times, slices, { ...rules, nowMs });
  const metrics = granted.metrics.map((one) => queriedSelector(one, selector.measure));
  rejectSunset([metric], nowMs);
  const schemaVersion = schemaVersionOf([entry], undefined);
  const parts = { metrics, filters, groupBy, window, exemplars: false, schemaVersion, quota };
  return {
    query: {
      ...ownQuery(granted, parts),
      windowAt:
        slices === undefined
          ? (atMs) => selectorWindowAt(timesAt(atMs), widthSeconds, rules)(atMs)
          : sliceWindowAt(request.times, { ...slices.condition, ...slices }, rules),
      isCompleteRequired: request.isCompleteRequired,
      limit: Math.min(queryLimits.seriesMax, quota.limits.maxSeries),
    },
    stamps,
    places,
    ...(slices === undefined ? {} : { slices }),
  };
}

/** Checks the labels and the values, and adds the tenant of the request. */
function filtersOf({ metric, filters }: MetricSelector, tenant: string | undefined): Filters {
  const all = new Map([...filters, ...(tenant === undefined ? [] : [["tenant", [tenant]] as const])]);
  const checked = [...all].map(([name, values]) => {
    const field = `${metric}{${shown(name)}}`;
    return [readLabel(name, field, "invalid_filter"), matchedValues(values, field)] as const;
  });
  return new Map(checked.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A place of a request that names a tenant. */
interface NamedTenant {
  readonly tenant: string;
  readonly place: string;
}

/** The tenant that the request names; undefined when it names none. @throws ApiError `invalid_filter` for two */
function tenantOfAll({ selectors, tenant }: SelectorsRequest): string | undefined {
  const named: readonly NamedTenant[] = [
    ...(tenant === undefined ? [] : [{ tenant, place: "X-Scope-OrgID" }]),
    ...selectors.flatMap(({ metric, filters }) =>
      (filters.get("tenant") ?? []).map((own) => ({ tenant: own, place: `${metric}{tenant}` })),
    ),
  ];
  const [first] = named;
  const other = named.find((one) => one.tenant !== first?.tenant);
  if (first === undefined || other === undefined) return first?.tenant;
  const detail =
    `${first.place} has the tenant ${shown(first.tenant)} and ${other.place} the tenant ${shown(other.tenant)}; ` +
    "select one tenant";
  const errors = [first, other].map(({ place }) => ({ field: place, code: "invalid_filter", detail }));
  throw new ApiError("invalid_filter", detail, { errors });
}

/**
 * Builds one metric of a query that requests a measure. The number and the share of events are partials of `avg`: a
 * peer is requested these.
 *
 * @throws ApiError `invalid_aggregation`, `incompatible_increases`
 */
export function queriedSelector(granted: GrantedMetric, measure: Measure): QueriedMetric {
  switch (measure.kind) {
    case "aggregation":
      return queriedMetric(granted, measure.aggregation);
    case "count":
      return measured(granted, measure, { recipe: eventCountRecipe(granted.entry.metric), slo: countedBy(granted) });
    case "fraction": {
      const recipe = eventFractionRecipe(granted.entry.metric, measure.threshold);
      return measured(granted, measure, { recipe, slo: sloWith(granted, measure.threshold) });
    }
    default:
      return measure satisfies never;
  }
}

interface Counted {
  readonly recipe: QueriedMetric["recipe"];
  readonly slo: string | undefined;
}

function measured(granted: GrantedMetric, measure: EventsMeasure, { recipe, slo }: Counted): QueriedMetric {
  requireOneRule(granted, recipe);
  return { ...granted, aggregation: "avg", measure, recipe, ...(slo === undefined ? {} : { slo }) };
}

/** The objective whose events are the count; undefined if the metric offers its average, which holds the count. */
function countedBy({ entry: { metric, slos } }: GrantedMetric): string | undefined {
  if (metric.aggregations.includes("avg")) return undefined;
  const [slo] = slos;
  if (slo !== undefined) return slo.name;
  const valid = metric.aggregations.join(", ");
  throw measureError(metric.id, `it has neither avg nor an objective, so its events are not counted; use ${valid}`);
}

/** The objective with a threshold: no other bound is read. */
function sloWith({ entry: { metric, slos } }: GrantedMetric, threshold: number): string {
  const found = slos.find((slo) => slo.threshold === threshold);
  if (found !== undefined) return found.name;
  const valid = [...new Set(slos.flatMap((slo) => slo.threshold ?? []))].sort((one, other) => one - other);
  const advice = valid.length === 0 ? "it has none, so use a percentile" : `use ${valid.join(" or ")}`;
  throw measureError(metric.id, `no objective has the threshold ${threshold}; ${advice}`);
}
