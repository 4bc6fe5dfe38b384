import type { LookUp, MetricsApi } from "../metrics/metrics-api.ts";
import { refuseField } from "../errors/refusal.ts";
import { readLabel } from "../metrics/request/parameters.ts";
import { nameLabel } from "./labels.ts";
import type { PrometheusAnswer, PrometheusRequest } from "./prometheus-api.ts";
import { readLimit, readLookUpTimes } from "./request/read-parameters.ts";
import type { SelectedMetric } from "./request/selectors.ts";
import { success } from "./success.ts";

type LookUps = Pick<MetricsApi, "labelValues" | "seriesLabels">;

/** `label/<name>/values` of a governed label. @throws Refusal */
export async function answerValues(
  { labelValues }: LookUps,
  selected: readonly SelectedMetric[],
  request: PrometheusRequest,
  label: string,
): Promise<PrometheusAnswer> {
  const { caller, signal, context } = request;
  const lookUp = { ...lookUpOf(selected, request), label: readLabel(label, "label", "invalid_request") };
  const { values, isPartial, headers } = await labelValues(lookUp, caller, signal, context);
  return cut(values, request, { isPartial, headers, warnings: [] });
}

/** `series`. @throws Refusal */
export async function answerSeries(
  { seriesLabels }: LookUps,
  selected: readonly SelectedMetric[],
  request: PrometheusRequest,
): Promise<PrometheusAnswer> {
  const { params, caller, signal, context } = request;
  if (!params.has("match[]")) throw refuseField("invalid_request", "match[]", "no match[] parameter provided");
  const found = await seriesLabels(lookUpOf(selected, request), caller, signal, context);
  const { isPartial, isNarrowed, headers } = found;
  const series = found.series.map(({ metric, labels }) => ({ [nameLabel]: metric, ...labels }));
  const narrowed = "a metric has more labels than one query may group by; some are left out";
  return cut(series, request, { isPartial, headers, warnings: isNarrowed ? [narrowed] : [] });
}

function lookUpOf(selected: readonly SelectedMetric[], { params, tenant, context }: PrometheusRequest): LookUp {
  const selectors = selected.map(({ metric, filters }) => ({ metric: metric.id, filters }));
  return { selectors, tenant, ...readLookUpTimes(params, context.nowMs) };
}

interface Found {
  readonly isPartial: boolean;
  readonly headers: PrometheusAnswer["headers"];
  readonly warnings: readonly string[];
}

/** The list up to the limit of the request, with warnings about what is missing. */
function cut(
  items: readonly unknown[],
  { params }: PrometheusRequest,
  { isPartial, headers, warnings }: Found,
): PrometheusAnswer {
  const data = items.slice(0, readLimit(params));
  const all = [
    ...warnings,
    ...(isPartial ? ["the data of some regions are missing"] : []),
    ...(data.length < items.length ? ["results truncated due to limit"] : []),
  ];
  return success(data, headers, {
    ...(all.length === 0 ? {} : { warnings: all }),
    ...(isPartial ? { isPartial: true } : {}),
  });
}
