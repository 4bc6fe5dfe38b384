import { CorrelationId, Duration, Problem } from "./documents.ts";
import {
  Aggregation,
  Explanation,
  LabelName,
  MetricFailure,
  QueryItem,
  QueryMeta,
  downsamples,
  filterValuesMax,
  metricsMax,
  rankedSeriesMax,
  rankings,
  rankOrders,
  seriesMax,
} from "./queries.ts";
import {
  closedObject,
  count,
  described,
  either,
  flag,
  integer,
  list,
  object,
  record,
  ref,
  text,
  words,
} from "./schema.ts";

export const bulkQueriesMax = 50;
/** Most characters of the id of a query. */
export const bulkIdLengthMax = 64;

export const BulkQuery = closedObject(
  {
    id: text("Names the query in `results`, unique in the request", { minLength: 1, maxLength: bulkIdLengthMax }),
    metric: either([text(), list(text(), undefined, { minItems: 1, maxItems: metricsMax })], "Metric id, or several"),
  },
  {
    from: text("Start of the window. Default: three hours before its end"),
    to: text("End of the window. Default: now"),
    last: ref(Duration, "Length of a window that ends now. Cannot be combined with from or to"),
    step: text("Width of a point. Default: the finest with at most 1,000 points"),
    agg: ref(Aggregation, "Aggregation. Default: the metric's own"),
    filter: record(text(), { propertyNames: ref(LabelName), description: "One exact value for each label" }),
    filter_in: record(list(text(), undefined, { minItems: 1, maxItems: filterValuesMax }), {
      propertyNames: ref(LabelName),
      description: "Several exact values of a label; cannot be combined with the same label in filter",
    }),
    group_by: either(
      [text(), list(ref(LabelName))],
      "Labels to group by, as a list or separated by commas. Default: none",
    ),
    downsample: words(downsamples, "Minimum width of a point"),
    exemplars: flag("True to add traces to series. Default: false"),
    explain: flag("True to explain the query, with the scope `metrics:explain`. Default: false"),
    complete: words(["required"], "Returns an error if data is missing"),
    limit: integer("Maximum number of series on the page. Default: the maximum of the class", {
      minimum: 1,
      maximum: seriesMax,
    }),
    page: integer("Page of series. Default: 1", { minimum: 1 }),
    top: integer("Only so many series of each metric, ranked over all stores, and the sum of the others", {
      minimum: 1,
      maximum: rankedSeriesMax,
    }),
    by: words(rankings, "Value of the window that `top` ranks by. Default: max"),
    compare: ref(Duration, "Time to an earlier window, whose points and change are added. Default: none"),
    order: words(rankOrders, "`asc`: `top` returns the lowest series. Default: desc"),
    snapshot: text("Snapshot to read the page from. Default: current data"),
    schema_version: text("Schema version that the client was written for. Default: any"),
  },
);

export const BulkRequest = closedObject({
  queries: list(ref(BulkQuery), "Queries, each with its own result", { minItems: 1, maxItems: bulkQueriesMax }),
});

export const BulkResult = described(
  object(
    {
      id: text("Id of the query"),
      status: integer("HTTP status of the query alone"),
      headers: record(text(), { description: "Headers of the query alone" }),
    },
    {
      data: list(ref(QueryItem), "Series of the page"),
      meta: ref(QueryMeta, "About the result"),
      errors: list(ref(MetricFailure), "Metrics that failed"),
      explain: ref(Explanation, "How the query was planned and read"),
      error: ref(Problem, "Why the query failed"),
    },
  ),
  "The response to the query as a single request: data and meta, or error",
);

export const BulkAnswer = object({
  results: list(ref(BulkResult), "One for each query, in their order", { minItems: 1, maxItems: bulkQueriesMax }),
  meta: described(
    object({
      correlation_id: ref(CorrelationId, "Id of the request"),
      schema_version: text("Versions of the catalogs that were read; `none` if every query failed"),
      queries: count("Number of queries"),
      failed: count("Queries that failed"),
      partial: flag("True if data of a query is missing"),
    }),
    "About the request",
  ),
});
