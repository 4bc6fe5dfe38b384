// Wires Prometheus' HTTP API over the metrics API. The rooms of `prometheus/` do its work.
import { createTimeSlices } from "../../limits/time-slices.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { handleExemplars } from "./exemplars.ts";
import { handleFormat, fixedResponses } from "./fixed-responses.ts";
import { handleLabels, handleMetadata, handleNames, handleSeries, handleValues, nameLabel } from "./metadata.ts";
import type { PrometheusResponse, PrometheusApi, PrometheusRequest } from "./prometheus-api.ts";
import { handleInstant, handleRange, type ExpressionSources } from "./query.ts";
import { callerCatalog, readableOf, readSelected, type SelectedMetrics } from "./request/read-expression.ts";

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
