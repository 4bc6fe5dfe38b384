import { aggregations, labelNames } from "../../../crds/config.ts";
import { bulkQueriesMax } from "../../metrics/bulk/bulk-request.ts";
import { downsamples, filterValuesMax, metricsMax, seriesMax } from "../../metrics/request/parameters.ts";
import {
  closedObject,
  count,
  described,
  flag,
  list,
  number,
  object,
  ref,
  share,
  text,
  words,
  type JsonSchema,
  type SchemaSet,
} from "./json-schema.ts";

const sloStates = words(["ok", "increasing", "critical", "recovering", "insufficient_data", "late", "failed"]);
const numberOrNull: JsonSchema = { type: ["number", "null"] };

function tuple(...items: readonly JsonSchema[]): JsonSchema {
  return { type: "array", prefixItems: items, items: false, minItems: items.length, maxItems: items.length };
}

/** Members of `meta` on every page of series. */
const pageMembers = {
  correlation_id: ref("CorrelationId"),
  schema_version: text({ description: "Version of the catalogs that were read; pinned with `schema_version`" }),
  step: ref("Duration"),
  agg: words([...aggregations, "mixed"]),
  downsample: words([...downsamples, "none"]),
  group_by: list(ref("LabelName")),
  page: { type: "integer", minimum: 1 },
  limit: { type: "integer", minimum: 1, maximum: seriesMax },
  total_series: count,
  has_more: described(flag, "Whether there is another page"),
  snapshot: text({ description: "Name of the data that all pages of this answer are cut from" }),
  partial: flag,
  regions: list(ref("RegionState")),
} as const;
const sometimesOfPage = {
  aggregations: {
    type: "object",
    additionalProperties: ref("Aggregation"),
    description: "By metric, when `agg` is `mixed`",
  },
  exemplars_hidden: described(
    count,
    "Exemplars that are not shown: their `trace_id` is not 16 or 32 hexadecimal digits",
  ),
  infinite_points: described(
    count,
    "Points of all pages with the value +Inf or -Inf, which JSON cannot represent; they are left out",
  ),
  hints: described(
    list(text()),
    "Why series or values are missing, such as several values in one filter, or values that are NaN",
  ),
  deprecated: list(
    object({ metric: text(), deprecated_at: ref("Time"), sunset_at: ref("Time") }, { replaced_by: text() }),
  ),
} as const;

/** Requests and responses below `/v1/metrics`. Source: seed "Operational Metrics API" §2 and §4. */
export const metricsSchemas: SchemaSet = {
  LabelName: words(labelNames),
  Aggregation: words(aggregations),
  Labels: {
    type: "object",
    propertyNames: ref("LabelName"),
    additionalProperties: text(),
    maxProperties: labelNames.length,
  },
  Point: described(tuple(ref("Time"), number), "End of the point and its value; a gap is a missing point"),
  ErrorBounds: described(
    tuple(numberOrNull, numberOrNull),
    "Between which numbers a percentile surely lies; null: unbounded",
  ),
  Exemplar: object({
    trace_id: text({ pattern: "^(?:[0-9a-fA-F]{16}|[0-9a-fA-F]{32})$" }),
    timestamp: ref("Time"),
    value: number,
  }),
  RegionState: object(
    { region: text(), state: words(["ok", "partial", "failed", "late", "unsupported"]) },
    {
      reasons: described(list(ref("RegionReason")), "Why data of the region is missing, unless the state says it"),
    },
  ),
  RegionReason: object({
    metric: text({ description: "The metric that the reason affects; others are complete" }),
    code: described(
      words(["part_missing", "late", "failed", "unsupported", "resting", "times_rounded"]),
      "`part_missing`: a store has a part of the metric, such as a numerator, without another. `times_rounded`: a " +
        "store returned the values of other times. `resting`: a store failed repeatedly and was not asked. The " +
        "others: a store did not return this metric of several",
    ),
    detail: text({ description: "The reason, in a sentence" }),
  }),
  QueryItem: object(
    { metric: text(), labels: ref("Labels"), points: list(ref("Point")) },
    { error_bounds: list(ref("ErrorBounds")), exemplars: list(ref("Exemplar")) },
  ),
  QueryMeta: object({ ...pageMembers, from: ref("Time"), to: ref("Time") }, sometimesOfPage),
  QueryAnswer: object(
    { data: list(ref("QueryItem"), { maxItems: seriesMax }), meta: ref("QueryMeta") },
    { errors: list(ref("MetricFailure")), explain: ref("Explanation") },
  ),
  MetricFailure: described(
    object({ metric: text(), status: { type: "integer" }, code: text(), detail: text() }),
    "A metric of several that failed by itself; the data is that of the others",
  ),
  InstantItem: object(
    { metric_id: text(), labels: ref("Labels"), timestamp: ref("Time"), value: number },
    { error_bounds: ref("ErrorBounds"), exemplar: ref("Exemplar") },
  ),
  InstantMeta: object({ ...pageMembers, ts: ref("Time") }, sometimesOfPage),
  InstantAnswer: object(
    { data: list(ref("InstantItem"), { maxItems: seriesMax }), meta: ref("InstantMeta") },
    { errors: list(ref("MetricFailure")), explain: ref("Explanation") },
  ),
  Explanation: described(
    object({
      class: words(["A", "B", "C"]),
      points: described(count, "Points of each series"),
      tenant: text(),
      environments: { anyOf: [{ const: "every" }, list(text())] },
      regions: list(text()),
      cost_estimate: number,
      metrics: list(
        object({
          metric: text(),
          aggregation: ref("Aggregation"),
          kind: text(),
          stores: described(count, "Stores that hold the metric"),
          ranges: described(count, "Range queries that one store gets for the metric"),
          partials: list(object({ name: text(), merge: words(["sum", "min", "max"]) })),
        }),
      ),
      stores: list(
        object(
          {
            store: text(),
            region: text(),
            residency: text(),
            extents: list(
              object({
                from: ref("Time"),
                to: ref("Time"),
                state: words(["settled", "hot"]),
                source: text(),
                reason: text(),
              }),
            ),
            reads: list(
              object(
                { api: text(), promql: text(), duration_ms: number, outcome: text(), series: count },
                { error: text() },
              ),
            ),
          },
          { boundary: text(), anchored: flag },
        ),
      ),
    }),
    "With `explain=true` and the scope `metrics:explain`: what each store was asked, and why",
  ),
  BulkRequest: closedObject({ queries: list(ref("BulkQuery"), { minItems: 1, maxItems: bulkQueriesMax }) }),
  BulkQuery: closedObject(
    {
      id: text({ minLength: 1, maxLength: 64 }),
      metric: { anyOf: [text(), list(text(), { minItems: 1, maxItems: metricsMax })] },
    },
    {
      from: text(),
      to: text(),
      last: described(ref("Duration"), "The window of this length that ends now. Excludes from and to"),
      step: text(),
      agg: ref("Aggregation"),
      filter: { type: "object", propertyNames: ref("LabelName"), additionalProperties: text() },
      filter_in: {
        type: "object",
        propertyNames: ref("LabelName"),
        additionalProperties: list(text(), { minItems: 1, maxItems: filterValuesMax }),
        description: "Several exact values of a label; excludes the same label in filter",
      },
      group_by: { anyOf: [text(), list(ref("LabelName"))] },
      downsample: words(downsamples),
      exemplars: flag,
      explain: flag,
      complete: words(["required"]),
      limit: { type: "integer", minimum: 1, maximum: seriesMax },
      page: { type: "integer", minimum: 1 },
      snapshot: text(),
      schema_version: text(),
    },
  ),
  BulkResult: described(
    object(
      { id: text(), status: { type: "integer" }, headers: { type: "object", additionalProperties: text() } },
      {
        data: list(ref("QueryItem")),
        meta: ref("QueryMeta"),
        errors: list(ref("MetricFailure")),
        explain: ref("Explanation"),
        error: ref("Problem"),
      },
    ),
    "What the query would be answered alone: data and meta, or error",
  ),
  BulkAnswer: object({
    results: list(ref("BulkResult"), { minItems: 1, maxItems: bulkQueriesMax }),
    meta: object({
      correlation_id: ref("CorrelationId"),
      schema_version: text(),
      queries: count,
      failed: count,
      partial: flag,
    }),
  }),
  CatalogEntry: object(
    {
      metric_id: text(),
      category: words(["slo", "kri", "business", "infrastructure", "api"]),
      unit: text(),
      description: text(),
      aggregations: list(ref("Aggregation")),
      default_aggregation: ref("Aggregation"),
      labels: list(ref("LabelName")),
      min_step: ref("Duration"),
      max_group_by: count,
      semantics: described(
        {
          type: "object",
          propertyNames: ref("Aggregation"),
          additionalProperties: object({
            value: text(),
            partials: list(object({ name: text(), of_store: text(), over_stores: text() })),
            notes: list(text()),
          }),
        },
        "What each aggregation means, printed from the recipes that plan it",
      ),
      slo: list(object({ name: text(), objective: share })),
      state: words(["Active", "Deprecated"]),
      schema_version: text(),
    },
    {
      replaced_by: text(),
      deprecated_at: ref("Time"),
      sunset_at: ref("Time"),
      compliance_scope: object({ regions: list(text()) }),
    },
  ),
  CatalogAnswer: object({
    data: list(ref("CatalogEntry")),
    meta: object({ correlation_id: ref("CorrelationId"), schema_version: text(), total: count }),
  }),
  HealthAnswer: object({
    status: words(["ok", "degraded", "down"]),
    window_seconds: count,
    requests: count,
    latency_p95_ms: number,
    error_rate: share,
    cache_hit_ratio: share,
    partial_response_rate: share,
    caches: list(
      object({
        name: words(["memory", "distributed"]),
        state: words(["ok", "failing", "off"]),
        hit_ratio: share,
        fallback: words(["distributed", "stores"]),
      }),
    ),
    stores: list(
      object(
        { name: text(), region: text(), state: words(["unknown", "ok", "failing", "unsupported"]) },
        {
          catalog: text(),
          age_seconds: count,
          warnings: described(list(text()), "Objectives that the series of the store lack a bucket for"),
        },
      ),
    ),
  }),
  BurnRate: object({ window: ref("Duration") }, { rate: number }),
  Slo: object(
    {
      name: text(),
      domain: text(),
      metric: text(),
      objective: share,
      window_days: count,
      minimum_events: count,
      at: ref("Time"),
      tenant: text(),
      regions: list(ref("RegionState")),
      error_budget: object({ total: share }, { spent: number, remaining: number }),
      burn: object({}, { fast: ref("BurnRate"), slow: ref("BurnRate") }),
      tiers: list(
        object({ severity: words(["page", "ticket"]), factor: number, long: ref("BurnRate"), short: ref("BurnRate") }),
      ),
      status: sloStates,
    },
    { title: text(), sli: share, events: object({ good: number, total: number }) },
  ),
  StatusAnswer: object({
    tenant: text(),
    status: sloStates,
    data: list(
      object(
        {
          name: text(),
          title: text(),
          domain: text(),
          objective: share,
          window_days: count,
          at: ref("Time"),
          status: sloStates,
          regions: list(text()),
          missing_regions: list(text()),
        },
        { sli: share, budget_remaining: number },
      ),
    ),
  }),
  SloAnswer: object({
    data: list(ref("Slo")),
    meta: object({ correlation_id: ref("CorrelationId"), schema_version: text(), partial: flag }),
  }),
};
