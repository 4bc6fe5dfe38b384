// Wires Prometheus' HTTP API over the metrics API. The rooms of `prometheus/` do its work.
import { createTimeSlices } from "../../limits/clock.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { version } from "../version.ts";
import { handleExemplars } from "./exemplars.ts";
import { formatExpression } from "./language/format-expression.ts";
import { typeOf } from "./language/parse-expression.ts";
import { aggregates, functions } from "./language/vocabulary.ts";
import { handleLabels, handleMetadata, handleNames, handleSeries, handleValues, nameLabel } from "./metadata.ts";
import {
  type FixedName,
  type PrometheusApi,
  type PrometheusRequest,
  type PrometheusResponse,
  success,
} from "./prometheus-api.ts";
import { handleInstant, handleRange, type ExpressionSources } from "./query.ts";
import {
  callerCatalog,
  readableOf,
  readExpression,
  readSelected,
  type SelectedMetrics,
  teaching,
} from "./request/read-expression.ts";

/** The metrics API as this one uses it. */
export type MetricsReads = Pick<
  MetricsApi,
  "describe" | "readable" | "admitEmpty" | "query" | "selectors" | "labelValues" | "seriesLabels"
>;

/** Creates the API. It holds no data of its own. */
export function createPrometheusApi(metrics: MetricsReads): PrometheusApi {
  const { describe, readable, admitEmpty, query, selectors } = metrics;
  const sources: ExpressionSources = { describe, readable, admitEmpty, selectors, slices: createTimeSlices() };
  const selectedBy = (request: PrometheusRequest): SelectedMetrics =>
    readSelected(request.params, callerCatalog(metrics, request), readableOf(metrics, request));
  /** Charges one request for a response that reads no store. */
  const charged = async (
    request: PrometheusRequest,
    respond: () => PrometheusResponse,
  ): Promise<PrometheusResponse> => {
    const quotas = await admitEmpty(request.caller);
    const { headers, body } = respond();
    return { headers: { ...headers, ...quotas }, body };
  };
  return {
    query: (request) => handleInstant(sources, request),
    queryRange: (request) => handleRange(sources, request),
    exemplars: (request) => handleExemplars({ describe, readable, admitEmpty, query }, request),
    formatQuery: (request) => charged(request, () => handleFormat(request)),
    metadata: (request) => charged(request, () => handleMetadata(readableOf(metrics, request), request)),
    labels: (request) => charged(request, () => handleLabels(selectedBy(request).metrics, request)),
    labelValues: async (request, label) =>
      label === nameLabel
        ? charged(request, () => handleNames(selectedBy(request).metrics, request))
        : handleValues(metrics, selectedBy(request), request, label),
    series: async (request) => handleSeries(metrics, selectedBy(request), request),
    fixed: (name, request) => charged(request, () => fixedResponses[name]),
  };
}

/**
 * `features`: what this API supports, by the categories of Prometheus. A feature that is not listed is not there.
 * Source: Prometheus, proposal 0063.
 */
const features: PrometheusResponse = success({
  api: {
    exemplars: true,
    label_values_match: true,
    query_post: true,
    query_warnings: true,
  },
  promql: { at_modifier: false, bool: true, negative_offset: false, offset: false, subqueries: false },
  promql_functions: Object.fromEntries([...functions.keys()].sort().map((name) => [name, true])),
  promql_operators: Object.fromEntries(
    [...aggregates, "+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or", "unless"].map((name) => [
      name,
      true,
    ]),
  ),
});

/**
 * The version of Prometheus whose HTTP API these responses have. Clients choose requests by it: Grafana sends `match[]`
 * with label values from 2.24 on. It takes a body without `features` for that of Prometheus itself.
 */
const apiVersion = "3.5.0";

const buildInfo: PrometheusResponse = success({
  version: apiVersion,
  revision: `heliograph-${version}`,
  branch: "",
  buildUser: "",
  buildDate: "",
  goVersion: "",
});

/** Neither rules nor alerts are evaluated here. */
export const fixedResponses: Readonly<Record<FixedName, PrometheusResponse>> = {
  "status/buildinfo": buildInfo,
  features,
  rules: success({ groups: [] }),
  alerts: success({ alerts: [] }),
};

/** `format_query`. @throws ApiError `invalid_expression` */
export function handleFormat({ params }: PrometheusRequest): PrometheusResponse {
  const expression = readExpression(params);
  teaching("query", () => typeOf(expression));
  return success(formatExpression(expression));
}
