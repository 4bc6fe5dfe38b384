import { invalidField } from "../../errors/api-error.ts";
import type { LabelValues, LookUp, MetricsApi, RequestContext } from "../../metrics/metrics-api.ts";
import { commaHints } from "../../metrics/request/known-names.ts";
import { filterValues, type Parameters, readLabel, readMany, readOne } from "../../metrics/request/parameters.ts";
import { readFilters, readSpan, rejectOthers, withFieldsOf } from "../../metrics/request/read-query.ts";
import { lookUpMetricsMax } from "../../metrics/request/selector.ts";
import { endAt, formatTime, timeAt } from "../../metrics/request/time.ts";
import type { ApiRequest, ApiResponse } from "../server/route.ts";

/** Span of a look-up that names no start. */
const spanMsDefault = 3_600_000;

/** Handles `GET /v1/metrics/labels/:label/values`. @throws ApiError as a query of each metric does */
export async function labelValues(
  { labelValues: read }: Pick<MetricsApi, "labelValues">,
  { path, query, caller, signal, nowMs }: ApiRequest,
  context: RequestContext,
): Promise<ApiResponse> {
  const label = readLabel(path["label"] ?? "", "label", "invalid_request");
  const request = { ...readLookUp(query, nowMs), label };
  const found = await read(request, caller, signal, context).catch((error: unknown) => {
    throw withFieldsOf(query, error);
  });
  const { values, isPartial, regions, headers } = found;
  const hints = hintsOf(found, query);
  return {
    status: isPartial ? 206 : 200,
    headers: { ...headers, Vary: "Authorization, Accept" },
    body: {
      data: values,
      meta: {
        partial: isPartial,
        ...(regions.length === 0 ? {} : { regions }),
        ...(hints.length === 0 ? {} : { hints }),
      },
    },
  };
}

function hintsOf({ values, leftOut, unlabelled, failures }: LabelValues, query: Parameters): readonly string[] {
  const commas = values.length === 0 ? commaHints(readFilters(query)) : [];
  return [...commas, ...unlabelled, ...leftOutHints(leftOut), ...failures];
}

function leftOutHints(leftOut: readonly string[]): readonly string[] {
  if (leftOut.length === 0) return [];
  return [`${leftOut.join(", ")} cannot be combined across regions; select one region with filter[region]`];
}

/** Parses the parameters of a look-up. @throws ApiError 400 that names the invalid parameter */
export function readLookUp(params: Parameters, nowMs: number): LookUp {
  rejectOthers(params, ["metric", "tenant", "from", "to", "last"]);
  const metrics = [...new Set(readMany(params, "metric", lookUpMetricsMax))].sort();
  if (metrics.length === 0) throw invalidField("invalid_request", "metric", "the request has no metric; add metric=");
  const filters = readFilters(params);
  return {
    selectors: metrics.map((metric) => ({ metric, filters })),
    requiresMatches: true,
    tenant: tenantOf(params),
    ...timesOf(params, nowMs),
  };
}

function tenantOf(params: Parameters): string | undefined {
  const tenant = readOne(params, "tenant", "invalid_filter");
  return tenant === undefined ? undefined : filterValues([tenant], "tenant")[0];
}

function timesOf(params: Parameters, nowMs: number): Pick<LookUp, "startMs" | "endMs"> {
  const { from, to } = readSpan(params);
  const endMs = Math.min(to === undefined ? nowMs : endAt(to, nowMs), nowMs);
  const startMs = from === undefined ? Math.max(0, endMs - spanMsDefault) : timeAt(from, nowMs);
  if (startMs < endMs) return { startMs, endMs };
  const detail = `from=${formatTime(startMs)} is not before the end ${formatTime(endMs)}; use an earlier from`;
  throw invalidField("invalid_window", "from", detail);
}
