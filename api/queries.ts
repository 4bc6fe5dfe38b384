import { CorrelationId, Duration, Time } from "./documents.ts";
import {
  constant,
  count,
  described,
  either,
  flag,
  integer,
  list,
  number,
  numberOrNull,
  object,
  pair,
  record,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

export const labelNames = [
  "region",
  "tenant",
  "environment",
  "service",
  "psp",
  "bank_group",
  "geo",
  "device",
  "version",
  "component",
] as const;
export const aggregations = ["avg", "sum", "min", "max", "p50", "p95", "p99"] as const;
/** Source: seed "Operational Metrics API" §4.1. */
export const downsamples = ["1m", "5m", "1h"] as const;
export type Downsamples = typeof downsamples;
export type Downsample = Downsamples[number];
/** How values of several stores are merged. */
export const merges = ["sum", "min", "max"] as const;
export type Merge = (typeof merges)[number];
export const classes = ["A", "B", "C"] as const;
/** Most series of one page. Source: seed "Operational Metrics API" §8. */
export const seriesMax = 50;
export const metricsMax = 50;
/** Last page that a request may name. */
export const seriesPagesMax = 1_000_000;
/** Most values of one filter. */
export const filterValuesMax = 50;
/** Most series that a request ranks for each metric. */
export const rankedSeriesMax = 2_000;
/** Values of the window that series are ranked by. */
export const rankings = ["max", "avg", "last"] as const;
export type Rankings = typeof rankings;
export const rankOrders = ["desc", "asc"] as const;
/** Longest name and longest value of a parameter, in characters. */
export const textLengthMax = 200;

export const LabelName = words(labelNames);

export const Aggregation = words(aggregations);

export const Labels = record(text(), { propertyNames: ref(LabelName), maxProperties: labelNames.length });

export const Point = pair(ref(Time), number(), "End of the point and its value; a gap is a missing point");

export const ErrorBounds = pair(numberOrNull(), numberOrNull(), "Guaranteed bounds of a percentile; null: unbounded");

export const Exemplar = object({
  trace_id: text("Id of the trace", { pattern: "^(?:[0-9a-fA-F]{16}|[0-9a-fA-F]{32})$" }),
  timestamp: ref(Time, "Time of the observation"),
  value: number("Observed value"),
});
export type Exemplar = Static<typeof Exemplar>;

export const RegionReason = object({
  metric: text("Affected metric; others are complete"),
  code: words(
    ["part_missing", "late", "failed", "unsupported", "resting", "times_rounded"],
    "`part_missing`: a store has a part of the metric, such as a numerator, without another. `times_rounded`: a " +
      "store returned the values of other times. `resting`: a store failed repeatedly and was not queried. The " +
      "others: a store did not return this metric of several",
  ),
  detail: text("Description of the reason"),
});
export type RegionReason = Static<typeof RegionReason>;

export const RegionState = object(
  {
    region: text("Name of the region"),
    state: words(
      ["ok", "partial", "failed", "late", "unsupported"],
      "`ok`: complete. `partial`: some data is missing. `failed`, `late`: no store responded, or not in time. " +
        "`unsupported`: its stores cannot compute the query",
    ),
  },
  { reasons: list(ref(RegionReason), "Why data of the region is missing, if the state does not tell") },
);
export type RegionState = Static<typeof RegionState>;

export const Change = pair(
  numberOrNull(),
  numberOrNull(),
  "Absolute change, and the change divided by the size of the earlier value; null without one, or if it is 0",
);

export const QueryItem = object(
  {
    metric: text("Metric id"),
    labels: ref(Labels, "Labels of `group_by` with their values"),
    points: list(ref(Point), "Points, oldest first; missing points are omitted"),
  },
  {
    error_bounds: list(ref(ErrorBounds), "Bounds of each point of a percentile, in the order of `points`"),
    exemplars: list(ref(Exemplar), "Newest exemplars"),
    rank: integer("With `top`: the place of the series among those of its metric", { minimum: 1 }),
    other: integer("With `top`: the number of series whose sum this is; they are not among the top", { minimum: 1 }),
    previous: list(ref(Point), "With `compare`: points of the earlier window, with the times of this window"),
    change: list(ref(Change), "With `compare`: change of each point, in the order of `points`"),
  },
);
export type QueryItem = Static<typeof QueryItem>;

/** Members of `meta` on every page of series. */
const page = {
  correlation_id: ref(CorrelationId, "Digest of the body, equal for equal contents"),
  schema_version: text("Version of the catalogs that were read; pinned with `schema_version`"),
  step: ref(Duration, "Time between two points"),
  agg: words([...aggregations, "mixed"], "Aggregation of all metrics; `mixed` if their defaults differ"),
  downsample: words([...downsamples, "none"], "Downsample that was applied; `none` if the step is the requested one"),
  group_by: list(ref(LabelName), "Labels that series are grouped by; if empty, each metric is a single series"),
  page: integer("Page of series, from 1", { minimum: 1 }),
  limit: integer("Maximum number of series on a page", { minimum: 1, maximum: seriesMax }),
  total_series: count("Number of series on all pages"),
  has_more: flag("Whether another page exists"),
  snapshot: text("Snapshot that all pages of this response are read from"),
  partial: flag("True if some data is missing; see `regions`"),
  regions: list(ref(RegionState), "State of each region that was read"),
};

const sometimesOfPage = {
  aggregations: record(ref(Aggregation), { description: "By metric, when `agg` is `mixed`" }),
  exemplars_hidden: count("Number of omitted exemplars, whose `trace_id` is not 16 or 32 hexadecimal digits"),
  infinite_points: count(
    "Number of omitted points on all pages with the value +Inf or -Inf, which JSON cannot represent",
  ),
  hints: list(text(), "Why series or values are missing, such as several values in one filter, or values that are NaN"),
  deprecated: list(
    object(
      {
        metric: text("Metric id"),
        deprecated_at: ref(Time, "Time since which the metric is deprecated"),
        sunset_at: ref(Time, "Time at which the metric is removed"),
      },
      { replaced_by: text("Metric to query instead") },
    ),
    "Metrics of the response that are deprecated",
  ),
};

export const RankedMetric = object(
  {
    metric: text("Metric id"),
    candidates: count("Number of series that were ranked"),
    omitted: count("Number of series that are not among the top"),
  },
  { reason: text("Why the omitted series have no sum in `other`") },
);
export type RankedMetric = Static<typeof RankedMetric>;

const sometimesOfWindow = {
  top: described(
    object({
      count: integer("Series of each metric", { minimum: 1, maximum: rankedSeriesMax }),
      by: words(rankings, "Value of the window that series are ranked by"),
      order: words(rankOrders, "`desc`: the greatest value first"),
      metrics: list(ref(RankedMetric), "By metric"),
    }),
    "With `top`: how the series were ranked",
  ),
  compare: described(
    object({
      shift: ref(Duration, "Time between the two windows"),
      from: ref(Time, "Start of the earlier window"),
      to: ref(Time, "End of the earlier window"),
      partial: flag("True if some data of the earlier window is missing"),
      regions: list(ref(RegionState), "State of each region in the earlier window"),
    }),
    "With `compare`: the earlier window",
  ),
};

export const QueryMeta = object(
  { ...page, from: ref(Time, "Start of the window"), to: ref(Time, "End of the window") },
  { ...sometimesOfPage, ...sometimesOfWindow },
);
export type QueryMeta = Static<typeof QueryMeta>;

export const MetricFailure = described(
  object({
    metric: text("Metric id"),
    status: integer("HTTP status of the metric alone"),
    code: text("Error code, a row of the error table"),
    detail: text("What failed and how to fix it"),
  }),
  "A metric that failed; the data is from the other metrics",
);
export type MetricFailure = Static<typeof MetricFailure>;

const explainedStores = list(
  object(
    {
      store: text("Name of the store"),
      region: text("Region of the store"),
      residency: text("Where its data may be kept"),
      extents: list(
        object({
          from: ref(Time, "Time of the first point"),
          to: ref(Time, "Time of the last point"),
          state: words(["settled", "hot"], "`settled`: no point can change. `hot`: points may still change"),
          source: text("Source of the points, as in `X-Query-Cache`"),
          reason: text("Reason for the source"),
        }),
        "Adjacent points with the same source",
      ),
      reads: list(
        object(
          {
            api: text("Endpoint of the store's API"),
            promql: text("Query that was sent"),
            duration_ms: number("Duration in milliseconds"),
            outcome: text("`ok`, or how the request failed"),
            series: count("Series in the response"),
          },
          { error: text("Message of the failure") },
        ),
        "Requests to the store",
      ),
    },
    {
      boundary: text("Whether a range includes the sample at its start; absent before the first probe"),
      anchored: flag("True if the store supports anchored ranges; absent before the first probe"),
    },
  ),
  "Stores that were planned",
);

export const Explanation = described(
  object(
    {
      class: words(classes, "Query class of the caller"),
      points: count("Points of each series"),
      tenant: text("Tenant of the response"),
      environments: either([constant("every"), list(text())], "Environments that are read; `every` if unrestricted"),
      regions: list(text(), "Regions that are read"),
      cost_estimate: number("Expected cost units"),
      metrics: list(
        object({
          metric: text("Metric id"),
          aggregation: ref(Aggregation, "Aggregation of the metric"),
          kind: text("Kind of its source: gauge, counter, ratio or histogram"),
          stores: count("Stores that contain the metric"),
          ranges: count("Number of range queries per store for the metric"),
          partials: list(
            object({
              name: text("Name of the part"),
              merge: words(merges, "How the parts of several stores are merged"),
            }),
            "Parts of a value that stores return",
          ),
        }),
        "Plan of each metric",
      ),
      stores: explainedStores,
    },
    {
      top: list(ref(RankedMetric), "With `top`: the series that were ranked after the merge of all stores"),
      compare: described(
        object({ cost_estimate: number("Expected cost units"), stores: explainedStores }),
        "With `compare`: the reads of the earlier window",
      ),
    },
  ),
  "With `explain=true` and the scope `metrics:explain`: the requests to each store and their reasons",
);

const sometimesOfResponse = {
  errors: list(ref(MetricFailure), "Metrics that failed; `data` has the others"),
  explain: ref(Explanation, "How the query was planned and read"),
};

export const QueryAnswer = object(
  {
    data: list(ref(QueryItem), "Series of the page, by metric and labels", { maxItems: seriesMax }),
    meta: ref(QueryMeta, "About the response"),
  },
  sometimesOfResponse,
);
export type QueryAnswer = Static<typeof QueryAnswer>;

export const InstantItem = object(
  {
    metric_id: text("Metric id"),
    labels: ref(Labels, "Labels of `group_by` with their values"),
    timestamp: ref(Time, "End of the point"),
    value: number("Value of the point"),
  },
  { error_bounds: ref(ErrorBounds, "Bounds of a percentile"), exemplar: ref(Exemplar, "Newest trace of the point") },
);
export type InstantItem = Static<typeof InstantItem>;

export const InstantMeta = object({ ...page, ts: ref(Time, "End of the point") }, sometimesOfPage);

export const InstantAnswer = object(
  {
    data: list(ref(InstantItem), "Values of the page, by metric and labels", { maxItems: seriesMax }),
    meta: ref(InstantMeta, "About the response"),
  },
  sometimesOfResponse,
);

export const LabelValuesAnswer = object({
  data: list(text(), "Sorted, without duplicates"),
  meta: described(
    object(
      { partial: flag("True if the data of some region is missing") },
      {
        regions: list(ref(RegionState), "Regions that were read; absent if no store was read"),
        hints: list(text(), "What a request without values probably intended, such as several values of a filter"),
      },
    ),
    "About the values",
  ),
});
export type LabelValuesAnswer = Static<typeof LabelValuesAnswer>;
