// Wires Prometheus' HTTP API over the metrics API. The rooms of `prometheus/` do its work.
import { createTimeSlices } from "../../limits/time-slices.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { answerExemplars } from "./exemplars.ts";
import { answerFormat, fixedResponses } from "./fixed-responses.ts";
import { answerLabels, answerMetadata, answerNames, answerSeries, answerValues, nameLabel } from "./metadata.ts";
import type { PrometheusAnswer, PrometheusApi, PrometheusRequest } from "./prometheus-api.ts";
import { answerInstant, answerRange, type ExpressionSources } from "./query.ts";
import { callerCatalog, readableOf, readSelected, type SelectedMetrics } from "./request/read-expression.ts";

/** The metrics API as this one uses it. */
export type MetricsReads = Pick<
  MetricsApi,
  "describe" | "readable" | "admitEmpty" | "query" | "leaves" | "labelValues" | "seriesLabels"
>;

/** Creates the API. It holds no data of its own. */
export function createPrometheusApi(metrics: MetricsReads): PrometheusApi {
  const { describe, readable, admitEmpty, query, leaves } = metrics;
  const sources: ExpressionSources = { describe, readable, admitEmpty, leaves, slices: createTimeSlices() };
  const selectedBy = (request: PrometheusRequest): SelectedMetrics =>
    readSelected(request.params, callerCatalog(metrics, request), readableOf(metrics, request));
  /** Charges one request for an answer that reads no store. */
  const charged = async (request: PrometheusRequest, answer: () => PrometheusAnswer): Promise<PrometheusAnswer> => {
    const quotas = await admitEmpty(request.caller);
    const { headers, body } = answer();
    return { headers: { ...headers, ...quotas }, body };
  };
  return {
    query: (request) => answerInstant(sources, request),
    queryRange: (request) => answerRange(sources, request),
    exemplars: (request) => answerExemplars({ describe, readable, admitEmpty, query }, request),
    formatQuery: (request) => charged(request, () => answerFormat(request)),
    metadata: (request) => charged(request, () => answerMetadata(readableOf(metrics, request), request)),
    labels: (request) => charged(request, () => answerLabels(selectedBy(request).metrics, request)),
    labelValues: async (request, label) =>
      label === nameLabel
        ? charged(request, () => answerNames(selectedBy(request).metrics, request))
        : answerValues(metrics, selectedBy(request), request, label),
    series: async (request) => answerSeries(metrics, selectedBy(request), request),
    fixed: (name, request) => charged(request, () => fixedResponses[name]),
  };
}
