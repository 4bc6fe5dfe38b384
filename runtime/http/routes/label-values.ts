import { refuseField } from "../../errors/refusal.ts";
import type { LookUp, MetricsApi, RequestContext } from "../../metrics/metrics-api.ts";
import {
  filterValues,
  lookUpMetricsMax,
  readFilters,
  readLabel,
  readMany,
  readOne,
  readTime,
  refuseUnknown,
  type Parameters,
} from "../../metrics/request/parameters.ts";
import { formatTime } from "../../metrics/request/time.ts";
import type { ApiRequest, ApiResponse } from "../server/route.ts";

/** Span of a look-up that names no start. */
const spanMsDefault = 3_600_000;

/** Answers `GET /v1/metrics/labels/:label/values`. @throws Refusal as a query of each metric does */
export async function labelValues(
  { labelValues: read }: Pick<MetricsApi, "labelValues">,
  { path, query, caller, signal, nowMs }: ApiRequest,
  context: RequestContext,
): Promise<ApiResponse> {
  const label = readLabel(path["label"] ?? "", "label", "invalid_request");
  const request = { ...readLookUp(query, nowMs), label };
  const { values, isPartial, headers } = await read(request, caller, signal, context);
  return {
    status: isPartial ? 206 : 200,
    headers: { ...headers, Vary: "Authorization, Accept" },
    body: { data: values, meta: { partial: isPartial } },
  };
}

/** Parses the parameters of a look-up. @throws Refusal 400 that names the invalid parameter */
export function readLookUp(params: Parameters, nowMs: number): LookUp {
  refuseUnknown(params, (name) => name.startsWith("filter[") || ["metric", "tenant", "from", "to"].includes(name));
  const metrics = [...new Set(readMany(params, "metric", lookUpMetricsMax))].sort();
  if (metrics.length === 0) {
    throw refuseField("invalid_request", "metric", "the request names no metric; name one with metric=");
  }
  const filters = readFilters(params);
  return {
    selectors: metrics.map((metric) => ({ metric, filters })),
    tenant: tenantOf(params),
    ...timesOf(params, nowMs),
  };
}

function tenantOf(params: Parameters): string | undefined {
  const tenant = readOne(params, "tenant", "invalid_filter");
  return tenant === undefined ? undefined : filterValues([tenant], "tenant")[0];
}

function timesOf(params: Parameters, nowMs: number): Pick<LookUp, "startMs" | "endMs"> {
  const endMs = Math.min(readTime(params, "to") ?? nowMs, nowMs);
  const startMs = readTime(params, "from") ?? Math.max(0, endMs - spanMsDefault);
  if (startMs < endMs) return { startMs, endMs };
  const detail = `from=${formatTime(startMs)} is not before the end ${formatTime(endMs)}; name an earlier from`;
  throw refuseField("invalid_window", "from", detail);
}
