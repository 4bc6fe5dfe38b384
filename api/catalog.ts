import { CorrelationId, Duration, Time } from "./documents.ts";
import { Aggregation, LabelName } from "./queries.ts";
import {
  count,
  described,
  list,
  nullable,
  number,
  object,
  record,
  ref,
  share,
  text,
  words,
  type Static,
} from "./schema.ts";

export const categories = ["slo", "kri", "business", "infrastructure", "api"] as const;
/** `Deprecated`: the metric will be removed. */
export const metricStates = ["Active", "Deprecated"] as const;

export const CatalogEntry = object(
  {
    metric_id: text("Metric id"),
    category: words(categories, "Category of the metric"),
    unit: text("Unit of its values"),
    description: text("Description for people"),
    aggregations: list(ref(Aggregation), "Aggregations that queries may use"),
    default_aggregation: ref(Aggregation, "Aggregation of a query without `agg`"),
    labels: list(ref(LabelName), "Labels to filter and group by"),
    min_step: ref(Duration, "Minimum width of a point"),
    max_group_by: count("Maximum number of labels to group by"),
    semantics: record(
      object({
        value: text("How a value is computed from its parts"),
        partials: list(
          object({
            name: text("Name of the part"),
            of_store: text("Query of each store: `m` are the series, `w` is the width, `g` the grouping"),
            over_stores: text("How the parts of several stores are merged"),
          }),
          "Parts that stores return",
        ),
        notes: list(text(), "Additional notes about the value"),
      }),
      {
        propertyNames: ref(Aggregation),
        description: "What each aggregation means, printed from the recipes that plan it",
      },
    ),
    slo: list(
      object({ name: text("Name of the objective"), objective: share("Required ratio of good events") }),
      "Objectives of the metric",
    ),
    state: words(metricStates, "`Deprecated`: the metric will be removed"),
    schema_version: text("Version of the catalog with the metric"),
  },
  {
    owner: text("Team that owns the metric"),
    contact: text("Where the owner is reached"),
    runbook_url: text("URL of the page that says what to do when the metric is abnormal"),
    domain: text("Business domain of the metric"),
    replaced_by: text("Metric to query instead"),
    deprecated_at: ref(Time, "Time since which the metric is deprecated"),
    sunset_at: ref(Time, "Time at which the metric is removed"),
    compliance_scope: described(
      object({ regions: list(text(), "Regions that may be merged") }),
      "Allows queries over several regions; if absent, each query is limited to one region",
    ),
  },
);
export type CatalogEntry = Static<typeof CatalogEntry>;

export const CatalogAnswer = object({
  data: list(ref(CatalogEntry), "Metrics that the caller may read, by id"),
  meta: described(
    object({
      correlation_id: ref(CorrelationId, "Digest of the body, equal for equal contents"),
      schema_version: text("Versions of the listed catalogs; `none` without a metric"),
      total: count("Number of metrics"),
    }),
    "About the response",
  ),
});
export type CatalogAnswer = Static<typeof CatalogAnswer>;

/** Whether a metric is as declared. `NotChecked`: the runtime cannot read the series of its stores. */
export const checkStatuses = ["True", "False", "Unknown", "NotChecked"] as const;

export const CatalogCheck = object(
  {
    metric_id: text("Metric id"),
    status: words(
      checkStatuses,
      "`False`: the stores differ. `Unknown`: a store does not respond, or is not compared yet. `NotChecked`: all " +
        "stores are peers, or require a tenant in each request",
    ),
    message: text("What differs, by store; empty for `True`"),
  },
  {
    check: text("First check that failed: forbidden, series, kind, labels, interval, bounds or values"),
    catalog: text("Catalog of the metric, as NAMESPACE/NAME"),
    stores: list(
      object(
        {
          store: text("Name of the store in its catalog"),
          status: words(checkStatuses, "Status of the metric in this store"),
          message: text("What differs; empty for `True`"),
        },
        {
          check: text("First check that failed"),
          checked_at: ref(Time, "Time of the oldest response of the store that the result is based on"),
        },
      ),
      "Results by store in the regions of the caller. Absent for metrics that were not compared yet. A report has at " +
        "most 2,000 results, those that differ first",
    ),
  },
);
export type CatalogCheck = Static<typeof CatalogCheck>;

export const CatalogChecksAnswer = object({
  data: list(ref(CatalogCheck), "Metrics that the caller may read, by id"),
  meta: described(
    object({
      total: count("Number of metrics"),
      failed: count("Number of metrics that differ from their stores"),
      unknown: count("Number of metrics that are not known to match"),
    }),
    "About the response",
  ),
});
export type CatalogChecksAnswer = Static<typeof CatalogChecksAnswer>;

export const HealthAnswer = object(
  {
    status: words(["ok", "degraded", "down"], "`down`: all stores fail. `degraded`: a store or the cache fails"),
    window_seconds: count("Length of the window of the figures in seconds"),
    requests: count("Requests to this pod in the window"),
    latency_p95_ms: number("95th percentile of their durations in milliseconds"),
    error_rate: share("Share of requests that failed on the server's side"),
    cache_hit_ratio: share("Ratio of points from a cache"),
    partial_response_rate: share("Share of partial responses"),
    caches: list(
      object({
        name: words(["memory", "distributed"], "`memory` of this pod, or `distributed` over all pods"),
        state: words(
          ["ok", "failing", "off"],
          "`failing`: this pod reaches no other pod. `off`: no class caches anything there",
        ),
        hit_ratio: share("Hit ratio of the cache"),
        fallback: words(["distributed", "stores"], "Where missing points are read from"),
      }),
      "Caches of points, the fastest first",
    ),
    stores: list(
      object(
        {
          name: text("Name of the store"),
          region: text("Region of the store"),
          state: words(
            ["unknown", "ok", "failing", "unsupported"],
            "`unknown`: not read yet. `failing`: the last read failed. `unsupported`: a metric requires a " +
              "function that the store does not support",
          ),
        },
        {
          catalog: text("Catalog of the store, as NAMESPACE/NAME; store names are unique within a catalog only"),
          age_seconds: count(
            "Age of the state in seconds; absent while it is unknown. A request for a state older than 10 s probes " +
              "the store",
          ),
          warnings: list(text(), "Objectives for which the store's series have no bucket"),
        },
      ),
      "Stores of this runtime",
    ),
  },
  {
    requests_per_second: number("Requests per second to all pods of the installation in the window", { minimum: 0 }),
    response_bytes_avg: nullable(
      number(undefined, { minimum: 0 }),
      "Average bytes of the response bodies of all pods in the window; null without a response",
    ),
    most_expensive: list(
      object({
        metric: text("Metric id"),
        cost: count("Cost units that were charged in the window"),
        requests: count("Admitted requests for the metric"),
      }),
      "Metrics with the greatest cost over all pods, within the tenants and metrics of the caller",
      { maxItems: 10 },
    ),
    pods: described(
      object({ live: count("Live pods"), counted: count("Pods whose requests are in the figures of all pods") }),
      "Pods of the installation",
    ),
  },
);
export type HealthAnswer = Static<typeof HealthAnswer>;

const changedMetric = object({
  metric: text("Metric id"),
  fields: list(text(), "Changed fields of its definition, such as `source.numerator`"),
  queries: count("Evaluated queries of the metric that are allowed with and without the edit"),
  objectives: list(text(), "Names of the objectives over the metric"),
});
export type ChangedMetric = Static<typeof changedMetric>;

/** Members of the recorded queries of a preview, about metrics whose values an edit changes. */
export const queryChanges = {
  other_values: count("Queries, allowed with and without the edit, that would return other values"),
  changed_metrics: list(
    changedMetric,
    "Metrics whose unit or source changes, so that their values change; those of most queries first",
  ),
};
