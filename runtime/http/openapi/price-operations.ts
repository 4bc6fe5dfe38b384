import { Duration } from "../../../api/documents.ts";
import { classes, LabelName } from "../../../api/queries.ts";
import { list, ref, words } from "../../../api/schema.ts";
import { usageGroups } from "../../../api/usage.ts";
import { lookUpMetricsMax } from "../../metrics/request/selector.ts";
import {
  csvForm,
  diagnostics,
  filters,
  isolation,
  name,
  queryParameters,
  quotas,
  schemaVersion,
} from "./metrics-operations.ts";
import { parameter, queryTime, wholeOrPartial, type Operation } from "./operation.ts";

/** `GET /v1/metrics/plan` */
export const planOperation: Operation = {
  id: "planMetrics",
  summary: "Plan and estimated cost of a query without running it; charges one request and no cost units",
  parameters: queryParameters,
  responses: {
    "200": { description: "For an allowed and for a rejected query", schema: "PlanAnswer", headers: quotas },
  },
};

/** `GET /v1/metrics/quota` */
export const quotaOperation: Operation = {
  id: "readQuotas",
  summary: "Quotas of the caller, without a charge; reads of quotas have a separate rate limit",
  responses: { "200": { description: "By class", schema: "QuotaAnswer" } },
};

/** `GET /v1/metrics/catalog/checks` */
export const catalogChecksOperation: Operation = {
  id: "checkCatalog",
  summary: "How the metrics that the caller may read compare with the series of their stores",
  responses: { "200": { description: "By metric id", schema: "CatalogChecksAnswer", headers: quotas } },
};

/** `GET /v1/metrics/usage` */
export const usageOperation: Operation = {
  id: "readUsage",
  summary: "Requests, points, bytes and cost units by client, tenant, metric and class; own rows without metrics:usage",
  parameters: [
    parameter("from", "Start of the window, at most 35 days ago. Default: 24 hours before its end", queryTime),
    parameter("to", "End of the window. Default: now. Windows are extended to whole hours in UTC", queryTime),
    parameter("step", "Length of an interval, in whole hours. Default: the whole window is one", ref(Duration)),
    parameter(
      "group_by",
      "What rows are grouped by, separated by commas",
      list(words(usageGroups), undefined, { minItems: 1, maxItems: usageGroups.length, uniqueItems: true }),
      { isJoined: true },
    ),
    parameter("client", "Only this client", name),
    parameter("tenant", "Only this tenant", name),
    parameter("metric", "Only this metric", name),
    parameter("class", "Only this query class", words(classes)),
    csvForm,
  ],
  responses: {
    "200": { description: "Usage in JSON or as a table", schema: "UsageAnswer", alsoAs: ["text/csv"], headers: quotas },
  },
};

/** `GET /v1/metrics/labels/:label/values` */
export const labelValuesOperation: Operation = {
  id: "listLabelValues",
  summary: "Values of a label in the series of metrics, within the permissions of the caller",
  parameters: [
    parameter("label", "The label", ref(LabelName), { in: "path" }),
    parameter("metric", "Metric ids, at most 10", list(name, undefined, { minItems: 1, maxItems: lookUpMetricsMax }), {
      required: true,
    }),
    parameter("tenant", "The tenant, as filter[tenant]", name),
    ...filters,
    parameter(
      "from",
      "Start. Default: one hour before the end. At most the last day before the end is read",
      queryTime,
    ),
    parameter("to", "End. Default: now", queryTime),
    parameter("last", "Length of a time range that ends now. Cannot be combined with from or to", ref(Duration)),
  ],
  responses: wholeOrPartial({ schema: "LabelValuesAnswer", headers: quotas }),
};

/** `GET /v1/metrics/slo/history` */
export const sloHistoryOperation: Operation = {
  id: "readObjectiveHistory",
  summary: "Remaining error budget of an objective over its window",
  parameters: [
    parameter("slo", "Name of the objective", name, { required: true }),
    parameter("domain", "Its domain, if several objectives have the name", name),
    ...isolation,
    schemaVersion,
  ],
  responses: wholeOrPartial({ schema: "SloHistoryAnswer", headers: { ...diagnostics, ...quotas } }),
};

/** `GET /v1/status/:tenant` */
export const statusOperation: Operation = {
  id: "publicStatus",
  summary: "Public objectives of a tenant, as on its status page; 404 if the tenant has none",
  parameters: [parameter("tenant", "The tenant", name, { in: "path" })],
  responses: { "200": { description: "Its public objectives", schema: "StatusAnswer" } },
};
