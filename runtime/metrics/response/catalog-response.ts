import { categories, metricStates } from "../../../api/catalog.ts";
import { metricsMax } from "../../../api/queries.ts";
import { labelNames, type MetricOwnership } from "../../../crds/config.ts";
import { accessOf, type Caller, classOf } from "../authorization/access.ts";
import { mayRead, namedTenant, requireMetric, requireReadScope } from "../authorization/policy.ts";
import type { MetricEntry } from "../catalog-index.ts";
import type { CatalogReader, DescribedMetric, MetricsResponse, RequestContext } from "../metrics-api.ts";
import { isPastSunset, schemaVersionOf } from "../planning/catalog-entry.ts";
import type { QueryContext } from "../planning/query.ts";
import { meaningsOf } from "../promql/meaning.ts";
import {
  type Filters,
  type Parameters,
  readLabel,
  readMany,
  readOne,
  readWord,
  rejectUnknown,
} from "../request/parameters.ts";
import { readFilters } from "../request/read-query.ts";
import { formatDuration, formatTime } from "../request/time.ts";
import { contentId } from "./response-headers.ts";

const names: readonly string[] = ["metric", "category", "label", "state", "schema_version", "filter[tenant]"];

/**
 * `GET /v1/metrics/catalog`: lists by id the metrics that the caller may read, until their sunset. The parameters
 * `metric`, `category`, `label` and `state` narrow the list. `metric` and `label` are repeatable; a metric needs all
 * labels. Source: seed "Operational Metrics API" §2.5 and §4.4.
 *
 * @throws ApiError for an unknown or invalid parameter, for a caller without the scope or a tenant, and
 *   `schema_version_gone`
 */
export function catalogResponse(
  params: Parameters,
  caller: Caller,
  queryContext: QueryContext,
  { nowMs }: RequestContext,
): MetricsResponse {
  rejectUnknown(params, (name) => names.includes(name), names);
  const wanted = {
    ids: readMany(params, "metric", metricsMax),
    category: readWord(params, "category", categories),
    labels: (readMany(params, "label", labelNames.length) ?? []).map((name) =>
      readLabel(name, "label", "invalid_request"),
    ),
    state: readWord(params, "state", metricStates),
  };
  const access = accessOf(caller, queryContext.quotas);
  requireReadScope(caller);
  // The catalog is the same for all tenants: a caller with several need not choose one.
  namedTenant(readFilters(params), access.tenants);
  const entries = [...queryContext.catalog.values()].filter(
    (entry) =>
      mayRead(entry, caller, access) &&
      !isPastSunset(entry.metric, nowMs) &&
      (wanted.ids?.includes(entry.metric.id) ?? true) &&
      wanted.labels.every((label) => entry.metric.labels.includes(label)) &&
      entry.metric.category === (wanted.category ?? entry.metric.category) &&
      entry.metric.state === (wanted.state ?? entry.metric.state),
  );
  const data = entries.map(bodyOf);
  const about = { schema_version: schemaVersionOf(entries, readOne(params, "schema_version")), total: entries.length };
  return { status: 200, headers: {}, body: { data, meta: { correlation_id: contentId([data, about]), ...about } } };
}

/** Bodies of listed metrics. Printing the definitions takes four times as long as all the rest of the response. */
const bodies = new WeakMap<MetricEntry, object>();

function bodyOf(entry: MetricEntry): object {
  const known = bodies.get(entry) ?? entryBody(entry);
  bodies.set(entry, known);
  return known;
}

function entryBody({ metric, schemaVersion }: MetricEntry): object {
  return {
    metric_id: metric.id,
    category: metric.category,
    unit: metric.unit,
    description: metric.description,
    aggregations: metric.aggregations,
    default_aggregation: metric.defaultAggregation,
    labels: metric.labels,
    min_step: formatDuration(metric.minStepSeconds),
    max_group_by: metric.maxGroupBy,
    semantics: meaningsOf(metric),
    slo: metric.slos,
    state: metric.state,
    ...ownershipBody(metric),
    ...(metric.replacedBy === undefined ? {} : { replaced_by: metric.replacedBy }),
    ...(metric.deprecatedAtMs === undefined ? {} : { deprecated_at: formatTime(metric.deprecatedAtMs) }),
    ...(metric.sunsetAtMs === undefined ? {} : { sunset_at: formatTime(metric.sunsetAtMs) }),
    ...(metric.complianceScope === undefined ? {} : { compliance_scope: metric.complianceScope }),
    schema_version: schemaVersion,
  };
}

function ownershipBody({ owner, contact, runbookUrl, domain }: MetricOwnership): object {
  return {
    ...(owner === undefined ? {} : { owner }),
    ...(contact === undefined ? {} : { contact }),
    ...(runbookUrl === undefined ? {} : { runbook_url: runbookUrl }),
    ...(domain === undefined ? {} : { domain }),
  };
}

/** The thresholds of the SLOs of each metric, by its id. */
export type Thresholds = ReadonlyMap<string, readonly number[]>;

/**
 * The metrics that a caller may read, by id, until their sunset.
 *
 * @throws ApiError `scope_missing`, `tenant_required`, `tenant_forbidden`
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

/** One metric; undefined when no catalog has it. @throws ApiError `metric_forbidden`, `role_missing` */
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
