import { categories, metricStates } from "../../../api/catalog.ts";
import { Duration } from "../../../api/documents.ts";
import {
  seriesPagesMax,
  textLengthMax,
  LabelName,
  aggregations,
  downsamples,
  filterValuesMax,
  labelNames,
  metricsMax,
  rankedSeriesMax,
  rankings,
  rankOrders,
  seriesMax,
} from "../../../api/queries.ts";
import { list, text, words, ref } from "../../../api/schema.ts";
import type { JsonSchema } from "../../../api/schemas.ts";
import {
  parameter,
  queryTime,
  wholeOrPartial,
  type Operation,
  type OperationHeader,
  type OperationParameter,
} from "./operation.ts";

/** A name of a caller. */
export const name = text(undefined, { minLength: 1, maxLength: textLengthMax });
export const schemaVersion = parameter(
  "schema_version",
  "`meta.schema_version` that the caller supports; 409 when another is served",
  name,
);
/** One filter for each label, and one for several values of it. A response has one tenant. */
export const filters = labelNames.flatMap((label) => [
  parameter(`filter[${label}]`, `Only series whose ${label} has exactly this value`, name),
  parameter(
    `filter_in[${label}]`,
    `Only series whose ${label} has one of these values; repeat it for each. Excludes filter[${label}]`,
    list(name, undefined, { minItems: 1, maxItems: label === "tenant" ? 1 : filterValuesMax }),
  ),
]);

/** Parameters of both kinds of queries. Source: seed "Operational Metrics API" §4.1. */
export const selection: readonly OperationParameter[] = [
  parameter("metric", "Metric ids", list(name, undefined, { minItems: 1, maxItems: metricsMax }), { required: true }),
  parameter("agg", "Aggregation. Default: the metric's own", words(aggregations)),
  ...filters,
  parameter(
    "group_by",
    "Labels to group by, separated by commas",
    list(ref(LabelName), undefined, { minItems: 1, maxItems: 4, uniqueItems: true }),
    { isJoined: true },
  ),
  parameter("downsample", "Minimum width of a point", words(downsamples)),
  parameter("exemplars", "Adds representative traces", words(["true", "false"])),
  parameter("complete", "`required`: a response with a missing region is an error", words(["required"])),
  parameter("explain", "Adds the queries of each store; requires metrics:explain", words(["true", "false"])),
  parameter("limit", "Series per page. Default: the maximum", { type: "integer", minimum: 1, maximum: seriesMax }),
  parameter("page", "Page of series, from 1", { type: "integer", minimum: 1, maximum: seriesPagesMax }),
  parameter("snapshot", "`meta.snapshot` of an earlier page; 409 if that data is no longer available", name),
  schemaVersion,
];

const header = (description: string, schema: JsonSchema, required = true): OperationHeader => ({
  description,
  schema,
  required,
});

/** Remaining tokens of a caller's quotas. Source: seed "Operational Metrics API" §6. */
export const quotas: Readonly<Record<string, OperationHeader>> = {
  "X-RateLimit-Limit": header("Maximum burst of requests", { type: "integer", minimum: 0 }),
  "X-RateLimit-Remaining": header("Remaining requests", { type: "integer", minimum: 0 }),
  "X-RateLimit-Reset": header("Seconds until all requests are available again", { type: "integer", minimum: 0 }),
  "RateLimit-Policy": header(
    "Quotas of the caller (IETF draft), including single metrics if they fit",
    text(undefined, { maxLength: 384 }),
  ),
  RateLimit: header("Remaining quotas", text(undefined, { maxLength: 384 })),
};

/** Source: seed "Operational Metrics API" §6. */
export const diagnostics: Readonly<Record<string, OperationHeader>> = {
  "X-Data-Freshness": header(
    "Age of the newest sample of the stalest store in the response; absent without a sample",
    text(undefined, { pattern: "^[0-9]+s$" }),
    false,
  ),
  "X-Downsample": header("Downsample that was applied", text()),
  "X-Partial": header("True when some data is missing", words(["true", "false"])),
  "X-Query-Cost-Estimate": header("Estimate of the points that the stores compute", { type: "number", minimum: 0 }),
  "X-Query-Cost": header("Points that the stores computed", { type: "number", minimum: 0 }, false),
  "X-Query-Plan": header(
    "Class, points and the plan of each metric; for many metrics, their number, stores and reads",
    text(undefined, { maxLength: 384 }),
  ),
  "X-Query-Cache": header(
    "Source of the data: `off`, `snapshot`, `answer;age=<seconds>` for a cached response, `hit` or `miss` of " +
      "SLO views, `mixed` for a bulk whose queries differ, or `memory` with the points of all range queries that " +
      "were known (`hit`; of those `finer`, merged of narrower points, `shared`, read by another pod, and `stale`, " +
      "served while they are refreshed) and read (`miss`), and, for the points of the response from the first on, " +
      "`extents`: runs of `memory`, `finer`, `shared`, `stale` or `store`, each with its number of points. Of more " +
      "than 12 runs, the oldest are combined into `mixed`",
    text(),
  ),
  "X-Query-Shards": header(
    "Queried stores, and stores that responded",
    text(undefined, { pattern: "^asked=[0-9]+, answered=[0-9]+$" }),
  ),
  "Server-Timing": header("Durations of the steps", text()),
  "Retry-After": header("Time at which a partial response may be complete", { type: "integer", minimum: 0 }, false),
  "X-Suggested-Step": header("A cheaper step", text(), false),
  "X-Suggested-Downsample": header("A cheaper downsample", text(), false),
};

const deprecation: Readonly<Record<string, OperationHeader>> = {
  Deprecation: header(
    "Time since which a metric or a member of the response is deprecated (RFC 9745)",
    text(undefined, { pattern: "^@[0-9]+$" }),
    false,
  ),
  Sunset: header("Time of its removal (RFC 8594)", text(), false),
  Link: header(
    "The next page and the replacements of deprecated metrics, if they fit into 4 KB of headers",
    text(),
    false,
  ),
};

const tables = ["text/csv", "application/x-ndjson"];

/** How text cells of a table are written. */
export const csvForm = parameter(
  "csv",
  "`raw`: text cells of `text/csv` that look like a formula are unchanged. Default: they are prefixed with `'`",
  words(["raw"]),
);

/** Parameters of a query of a window. */
export const queryParameters: readonly OperationParameter[] = [
  ...selection,
  parameter("from", "Start of the window. Default: three hours before its end", queryTime),
  parameter("to", "End of the window. Default: now", queryTime),
  parameter("last", "Length of a window that ends now. Cannot be combined with from or to", ref(Duration)),
  parameter("step", "Width of a point, at least 10 s; at least 1 min for public callers", ref(Duration)),
  parameter("top", "Only so many series of each metric, ranked over all stores, and the sum of the others", {
    type: "integer",
    minimum: 1,
    maximum: rankedSeriesMax,
  }),
  parameter("by", "Value of the window that `top` ranks by. Default: max", words(rankings)),
  parameter("compare", "Time to an earlier window, whose points and change are added to the series", ref(Duration)),
  parameter("order", "`asc`: `top` returns the lowest series. Default: desc", words(rankOrders)),
];

/** `GET /v1/metrics/query` */
export const queryOperation: Operation = {
  id: "queryMetrics",
  summary: "Time series of one or more metrics",
  parameters: [...queryParameters, csvForm],
  responses: wholeOrPartial({
    schema: "QueryAnswer",
    alsoAs: tables,
    headers: { ...diagnostics, ...quotas, ...deprecation },
  }),
};

/** `GET /v1/metrics/instant` */
export const instantOperation: Operation = {
  id: "instantMetrics",
  summary: "Values of metrics at one time",
  parameters: [...selection, parameter("ts", "Time of the value. Default: now", queryTime), csvForm],
  responses: wholeOrPartial({
    schema: "InstantAnswer",
    alsoAs: tables,
    headers: { ...diagnostics, ...quotas, ...deprecation },
  }),
};

/** `POST /v1/metrics/bulk-query` */
export const bulkOperation: Operation = {
  id: "bulkQueryMetrics",
  summary: "Up to 50 queries in one request",
  bodySchema: "BulkRequest",
  responses: wholeOrPartial({
    schema: "BulkAnswer",
    alsoAs: ["application/x-ndjson"],
    headers: { ...diagnostics, ...quotas },
  }),
};

/** `GET /v1/metrics/catalog` */
export const catalogOperation: Operation = {
  id: "listMetrics",
  summary: "The metrics that the caller may read",
  parameters: [
    parameter("metric", "Only these metrics", list(name, undefined, { minItems: 1, maxItems: metricsMax })),
    parameter("category", "Only this category", words(categories)),
    parameter(
      "label",
      "Only metrics with all of these labels",
      list(ref(LabelName), undefined, { minItems: 1, maxItems: labelNames.length }),
    ),
    parameter("state", "Only this state", words(metricStates)),
    parameter("filter[tenant]", "Tenant of the objectives", name),
    schemaVersion,
  ],
  responses: { "200": { description: "By metric id", schema: "CatalogAnswer", headers: quotas } },
};

/** `GET /v1/metrics/health` */
export const healthOperation: Operation = {
  id: "metricsHealth",
  summary: "Health of the metrics API",
  responses: { "200": { description: "Of the last minutes", schema: "HealthAnswer", headers: quotas } },
};

/** Parameters that narrow an objective. */
export const isolation = ["region", "tenant", "environment"].map((label) =>
  parameter(label, `Only this ${label}`, name),
);

/** `GET /v1/metrics/slo` */
export const sloOperation: Operation = {
  id: "listObjectives",
  summary: "Objectives with their error budget and burn rates; without a token, the public ones of a tenant",
  parameters: [
    parameter("domain", "Only this domain", name),
    parameter("slo", "Only the objective with this name", name),
    ...isolation,
    schemaVersion,
  ],
  responses: wholeOrPartial({ schema: "SloAnswer", headers: { ...diagnostics, ...unlessAnonymous(quotas) } }),
};

/** A caller without a token has no quota of its own. */
function unlessAnonymous(
  headers: Readonly<Record<string, OperationHeader>>,
): Readonly<Record<string, OperationHeader>> {
  return Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, { ...value, required: false }]));
}
