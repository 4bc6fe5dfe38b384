import { metricsMax } from "../../../api/queries.ts";
import { contentId } from "./content-id.ts";
import { labelNames, type MetricConfig } from "../../../crds/config.ts";
import { accessOf } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { meaningsOf } from "../promql/meaning.ts";
import type { MetricEntry } from "../catalog/catalog-index.ts";
import { isPastSunset } from "../catalog/deprecation.ts";
import { formatDuration } from "../request/duration.ts";
import type { MetricsResponse, RequestContext } from "../metrics-api.ts";
import { type Parameters, readLabel, readMany, readOne, readWord, refuseUnknown } from "../request/parameters.ts";
import { mayRead, namedTenant, requireReadScope } from "../authorization/policy.ts";
import type { QueryContext } from "../planning/query.ts";
import { schemaVersionOf } from "../planning/schema-version.ts";
import { readFilters } from "../request/read-query.ts";
import { formatTime } from "../request/time.ts";

const categories = [
  "slo",
  "kri",
  "business",
  "infrastructure",
  "api",
] as const satisfies readonly MetricConfig["category"][];
const states = ["Active", "Deprecated"] as const satisfies readonly MetricConfig["state"][];
const names: readonly string[] = ["metric", "category", "label", "state", "schema_version", "filter[tenant]"];

/**
 * `GET /v1/metrics/catalog`: lists by id the metrics that the caller may read, until their sunset. The parameters
 * `metric`, `category`, `label` and `state` narrow the list. `metric` and `label` are repeatable; a metric needs all
 * labels. Source: seed "Operational Metrics API" §2.5 and §4.4.
 *
 * @throws Refusal for an unknown or invalid parameter, for a caller without the scope or a tenant, and
 *   `schema_version_gone`
 */
export function catalogResponse(
  params: Parameters,
  caller: Caller,
  queryContext: QueryContext,
  { nowMs }: RequestContext,
): MetricsResponse {
  refuseUnknown(params, (name) => names.includes(name), names);
  const wanted = {
    ids: readMany(params, "metric", metricsMax),
    category: readWord(params, "category", categories),
    labels: (readMany(params, "label", labelNames.length) ?? []).map((name) =>
      readLabel(name, "label", "invalid_request"),
    ),
    state: readWord(params, "state", states),
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
  const data = entries.map(entryBody);
  const about = { schema_version: schemaVersionOf(entries, readOne(params, "schema_version")), total: entries.length };
  return { status: 200, headers: {}, body: { data, meta: { correlation_id: contentId([data, about]), ...about } } };
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
    ...(metric.replacedBy === undefined ? {} : { replaced_by: metric.replacedBy }),
    ...(metric.deprecatedAtMs === undefined ? {} : { deprecated_at: formatTime(metric.deprecatedAtMs) }),
    ...(metric.sunsetAtMs === undefined ? {} : { sunset_at: formatTime(metric.sunsetAtMs) }),
    ...(metric.complianceScope === undefined ? {} : { compliance_scope: metric.complianceScope }),
    schema_version: schemaVersion,
  };
}
