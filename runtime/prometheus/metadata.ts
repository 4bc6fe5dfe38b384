import type { MetricConfig } from "../../crds/config.ts";
import type { DescribedMetric } from "../metrics/metrics-api.ts";
import type { PrometheusAnswer, PrometheusRequest } from "./prometheus-api.ts";
import { firstOf, limited } from "./request/read-parameters.ts";
import { success } from "./success.ts";

/** `metadata`: the types, help and units of the metrics that the caller may read. @throws Refusal `invalid_limit` */
export function answerMetadata(
  readable: ReadonlyMap<string, DescribedMetric>,
  { params }: PrometheusRequest,
): PrometheusAnswer {
  const wanted = firstOf(params, "metric");
  const found = [...readable].filter(([id]) => wanted === undefined || id === wanted);
  const { kept, warnings } = limited(found, params);
  const entries = kept.map(
    ([id, { metric }]) => [id, [{ type: typeOf(metric), help: metric.description, unit: metric.unit }]] as const,
  );
  return success(Object.fromEntries(entries), {}, { warnings });
}

/** A ratio has a value at each time, as a gauge does. */
function typeOf({ source: { kind } }: Pick<MetricConfig, "source">): "gauge" | "counter" | "histogram" {
  return kind === "ratio" ? "gauge" : kind;
}
