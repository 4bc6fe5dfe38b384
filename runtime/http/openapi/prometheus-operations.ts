import { text } from "../../../api/schema.ts";
import type { SchemaName } from "../../../api/schemas.ts";
import { parameter, type Operation, type OperationParameter } from "./operation.ts";

const time = text("Unix seconds with decimals, or RFC 3339");
const expression = parameter("query", "An expression of the closed subset of PromQL", text());
const start = parameter("start", "Start of the range", time);
const end = parameter("end", "End of the range. Default: now", time);
const limit = parameter("limit", "Maximum number of items; 0 is unlimited", { type: "integer", minimum: 0 });
const selectors = parameter(
  "match[]",
  "Metrics with matchers, each at most 8,192 characters; repeatable. Default: all metrics of the caller",
  { type: "array", items: text(), maxItems: 10 },
);
const complete = parameter(
  "partial_response",
  "`false`: a response with a missing region is an error. Default: partial responses have warnings",
  text(),
);

interface Described {
  readonly id: string;
  readonly summary: string;
  readonly parameters: readonly OperationParameter[];
  readonly schema: SchemaName;
}

function read({ id, summary, parameters, schema }: Described): Operation {
  return {
    id: `prometheus${id}`,
    summary,
    parameters,
    responses: { "200": { description: "In Prometheus' format", schema } },
  };
}

/** The operations below `/prometheus/api/v1/`, by their paths. */
export const prometheusOperations = {
  query: read({
    id: "Query",
    summary: "An expression at one time",
    parameters: [expression, parameter("time", "Time of the result. Default: now", time), limit, complete],
    schema: "PrometheusResult",
  }),
  query_range: read({
    id: "QueryRange",
    summary: "An expression over a range of times",
    parameters: [
      expression,
      start,
      end,
      parameter("step", "Step between points: seconds, or a duration such as `5m`", text()),
      limit,
      complete,
    ],
    schema: "PrometheusResult",
  }),
  query_exemplars: read({
    id: "QueryExemplars",
    summary: "Exemplars of the metrics of an expression",
    parameters: [expression, start, end],
    schema: "PrometheusExemplars",
  }),
  format_query: read({
    id: "FormatQuery",
    summary: "The canonical text of an expression",
    parameters: [expression],
    schema: "PrometheusText",
  }),
  labels: read({
    id: "Labels",
    summary: "Names of the labels of metrics",
    parameters: [selectors, start, end, limit],
    schema: "PrometheusNames",
  }),
  "label/:name/values": read({
    id: "LabelValues",
    summary: "Values of one label",
    parameters: [parameter("name", "A label, or `__name__`", text(), { in: "path" }), selectors, start, end, limit],
    schema: "PrometheusNames",
  }),
  series: read({
    id: "Series",
    summary: "Label sets of metrics",
    parameters: [{ ...selectors, required: true }, start, end, limit],
    schema: "PrometheusSeries",
  }),
  metadata: read({
    id: "Metadata",
    summary: "Types, help and units of metrics",
    parameters: [parameter("metric", "Only this metric", text()), limit],
    schema: "PrometheusMetadata",
  }),
  "status/buildinfo": read({
    id: "BuildInfo",
    summary: "Version of Prometheus whose API these operations implement",
    parameters: [],
    schema: "PrometheusObject",
  }),
  features: read({
    id: "Features",
    summary: "What these operations and their language support, by category",
    parameters: [],
    schema: "PrometheusObject",
  }),
  rules: read({
    id: "Rules",
    summary: "Always empty: rules are evaluated by other programs",
    parameters: [],
    schema: "PrometheusObject",
  }),
  alerts: read({
    id: "Alerts",
    summary: "Always empty: rules are evaluated by other programs",
    parameters: [],
    schema: "PrometheusObject",
  }),
} as const satisfies Readonly<Record<string, Operation>>;

/** The same operation with its parameters in a form. */
export function inForm(operation: Operation): Operation {
  return { ...operation, id: `${operation.id}Form`, bodySchema: "PrometheusForm" };
}
