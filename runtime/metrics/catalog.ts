import type { MetricConfig } from "../../crds/config.ts";
import { refuseField } from "../errors/refusal.ts";
import { accessOf, type Access } from "./access.ts";
import type { Caller } from "./caller.ts";
import type { MetricEntry } from "./catalog-index.ts";
import type { MetricsAnswer, Parameters } from "./metrics-api.ts";
import { readFilters, readWord, refuseUnknown } from "./parameters.ts";
import { mayRead, requireReadScope, tenantOf } from "./policy.ts";
import type { World } from "./query.ts";
import { formatTime } from "./time.ts";

const categories = ["slo", "kri", "business", "infrastructure", "api"] as const satisfies readonly MetricConfig["category"][];
const states = ["Active", "Deprecated"] as const satisfies readonly MetricConfig["state"][];
const names: readonly string[] = ["metric", "category", "state", "filter[tenant]"];

/**
 * `GET /v1/metrics/catalog`: the metrics that the caller may read, by id; narrowed by `metric` (repeatable), `category`
 * and `state`. Source: seed "Operational Metrics API" §2.5 and §4.4, wire "Catalog entry".
 *
 * @throws Refusal for a parameter that is not known or not valid, and for a caller without the scope or a tenant
 */
export function catalogAnswer(params: Parameters, caller: Caller, world: World, correlationId: string): MetricsAnswer {
  refuseUnknown(params, (name) => names.includes(name));
  const wanted = {
    ids: params.get("metric"),
    category: readWord(params, "category", categories),
    state: readWord(params, "state", states),
  };
  const access = accessOf(caller, world.quotas);
  requireReadScope(caller);
  requireTenant(params, access);
  const entries = [...world.catalog.values()].filter(
    (entry) =>
      mayRead(entry, caller, access) &&
      (wanted.ids?.includes(entry.metric.id) ?? true) &&
      entry.metric.category === (wanted.category ?? entry.metric.category) &&
      entry.metric.state === (wanted.state ?? entry.metric.state),
  );
  const versions = new Set([...world.catalog.values()].map(({ schemaVersion }) => schemaVersion));
  return {
    status: 200,
    headers: {},
    body: {
      data: entries.map(entryBody),
      meta: { correlation_id: correlationId, schema_version: [...versions].sort().join(",") },
    },
  };
}

/** The catalog is the same for all tenants, so that one of several need not be chosen. */
function requireTenant(params: Parameters, { tenants }: Access): void {
  const filters = readFilters(params);
  if (filters.has("tenant")) tenantOf(filters, tenants);
  else if (tenants !== "every" && tenants.size === 0) {
    throw refuseField("tenant_required", "filter[tenant]", "the token names no tenant");
  }
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
    slo: metric.slos,
    state: metric.state,
    ...(metric.replacedBy === undefined ? {} : { replaced_by: metric.replacedBy }),
    ...(metric.deprecatedAtMs === undefined ? {} : { deprecated_at: formatTime(metric.deprecatedAtMs) }),
    ...(metric.sunsetAtMs === undefined ? {} : { sunset_at: formatTime(metric.sunsetAtMs) }),
    ...(metric.complianceScope === undefined ? {} : { compliance_scope: metric.complianceScope }),
    schema_version: schemaVersion,
  };
}
