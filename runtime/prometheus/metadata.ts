import type { LabelName, MetricConfig } from "../../crds/config.ts";
import { invalidField } from "../errors/api-error.ts";
import type { DescribedMetric, LabelValues, LookUp, MetricsApi } from "../metrics/metrics-api.ts";
import { type Parameters, readLabel } from "../metrics/request/parameters.ts";
import { type PrometheusResponse, type PrometheusRequest, regionWarnings, success } from "./prometheus-api.ts";
import type { SelectedMetric, SelectedMetrics } from "./request/read-expression.ts";
import { firstOf, isBeforeNow, limited, readLookUpTimes } from "./request/read-parameters.ts";

type LookUps = Pick<MetricsApi, "admitEmpty" | "labelValues" | "seriesLabels">;

/** `label/<name>/values` of a governed label. @throws ApiError */
export async function handleValues(
  { labelValues, admitEmpty }: LookUps,
  selected: SelectedMetrics,
  request: PrometheusRequest,
  label: string,
): Promise<PrometheusResponse> {
  const { caller, signal, context } = request;
  const lookUp = { ...lookUpOf(selected, request), label: readLabel(label, "label", "invalid_request") };
  if (!isBeforeNow(request)) return success([], await admitEmpty(caller));
  const found = await labelValues(lookUp, caller, signal, context);
  return cut(found.values, request, { ...found, warnings: [...found.unlabelled, ...leftOutWarnings(found)] });
}

/** `series`. @throws ApiError */
export async function handleSeries(
  { seriesLabels, admitEmpty }: LookUps,
  selected: SelectedMetrics,
  request: PrometheusRequest,
): Promise<PrometheusResponse> {
  const { params, caller, signal, context } = request;
  if (!params.has("match[]")) throw invalidField("invalid_request", "match[]", "no match[] parameter provided");
  if (!isBeforeNow(request)) return success([], await admitEmpty(caller));
  const found = await seriesLabels(lookUpOf(selected, request), caller, signal, context);
  const { isNarrowed } = found;
  const series = found.series.map(({ metric, labels }) => ({ [nameLabel]: metric, ...labels }));
  const narrowed = "a metric has more labels than one query may group by; some are omitted";
  return cut(series, request, {
    ...found,
    warnings: [...(isNarrowed ? [narrowed] : []), ...leftOutWarnings(found)],
  });
}

/** Most names of one warning. */
const namesMax = 10;

/** Warnings about metrics that a look-up could not read. */
function leftOutWarnings({ leftOut, unread }: Pick<LabelValues, "leftOut" | "unread">): readonly string[] {
  const more = leftOut.length > namesMax ? ` and ${leftOut.length - namesMax} more` : "";
  const named = `${leftOut.slice(0, namesMax).join(", ")}${more}`;
  return [
    ...(leftOut.length === 0
      ? []
      : [`metrics that cannot be combined across regions are omitted: ${named}; add a region matcher`]),
    ...(unread === 0 ? [] : [`${unread} more metrics are omitted; select metrics with match[]`]),
  ];
}

function lookUpOf({ metrics, isOfAll }: SelectedMetrics, { params, tenant, context }: PrometheusRequest): LookUp {
  const selectors = metrics.map(({ metric, filters }) => ({ metric: metric.id, filters }));
  return { selectors, isOfAll, tenant, ...readLookUpTimes(params, context.nowMs) };
}

interface Found extends Pick<LabelValues, "isPartial" | "regions" | "failures" | "headers"> {
  readonly warnings: readonly string[];
}

/** The list up to the limit of the request, with warnings about what is missing. */
function cut(
  items: readonly unknown[],
  { params }: PrometheusRequest,
  { isPartial, regions, failures, headers, warnings }: Found,
): PrometheusResponse {
  const { kept, warnings: cutOff } = limited(items, params);
  const all = [...warnings, ...regionWarnings(regions), ...failures, ...cutOff];
  return success(kept, headers, { warnings: all, ...(isPartial ? { isPartial: true } : {}) });
}

/** The label of the metric's name. */
export const nameLabel = "__name__";
/** Labels by which every metric can be selected. */
const everywhere: readonly LabelName[] = ["tenant", "region", "environment"];

/** `labels`: the labels of metrics, from the catalog. @throws ApiError `invalid_limit` */
export function handleLabels(selected: readonly SelectedMetric[], { params }: PrometheusRequest): PrometheusResponse {
  const own = selected.flatMap(({ metric }) => [...everywhere, ...metric.labels]);
  const names = selected.length === 0 ? [] : [nameLabel, ...own];
  return listed([...new Set(names)].sort(), params);
}

function listed(names: readonly string[], params: Parameters): PrometheusResponse {
  const { kept, warnings } = limited(names, params);
  return success(kept, {}, { warnings });
}

/** `label/__name__/values`: the ids of metrics, from the catalog. @throws ApiError `invalid_limit` */
export function handleNames(selected: readonly SelectedMetric[], { params }: PrometheusRequest): PrometheusResponse {
  const ids = new Set(selected.map(({ metric }) => metric.id));
  return listed([...ids].sort(), params);
}

/** `metadata`: the types, help and units of the metrics that the caller may read. @throws ApiError `invalid_limit` */
export function handleMetadata(
  readable: ReadonlyMap<string, DescribedMetric>,
  { params }: PrometheusRequest,
): PrometheusResponse {
  const wanted = firstOf(params, "metric");
  const found = [...readable].filter(([id]) => wanted === undefined || id === wanted);
  const { kept, warnings } = limited(found, params);
  const entries = kept.map(
    ([id, { metric }]) => [id, [{ type: typeOf(metric), help: helpOf(metric), unit: metric.unit }]] as const,
  );
  return success(Object.fromEntries(entries), {}, { warnings });
}

/** The format has no members for the owner and the runbook, and clients show the help. */
function helpOf({ description, owner, contact, runbookUrl }: MetricConfig): string {
  const reached = contact === undefined ? "" : ` (${contact})`;
  const named = owner === undefined ? contact : `${owner}${reached}`;
  return [
    description,
    ...(named === undefined ? [] : [`Owner: ${named}`]),
    ...(runbookUrl === undefined ? [] : [`Runbook: ${runbookUrl}`]),
  ].join("\n");
}

/** A ratio has a value at each time, as a gauge does. */
function typeOf({ source: { kind } }: Pick<MetricConfig, "source">): "gauge" | "counter" | "histogram" {
  return kind === "ratio" ? "gauge" : kind;
}
