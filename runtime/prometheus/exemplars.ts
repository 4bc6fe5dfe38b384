import type { QueryAnswer, QueryItem } from "../../api/queries.ts";
import { resultOrError } from "../errors/result-or-error.ts";
import type { MetricSelector } from "../metrics/request/selector.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import type { Parameters } from "../metrics/request/parameters.ts";
import { formatTime } from "../metrics/request/time.ts";
import { compileExpression } from "./compile/compile.ts";
import { ExpressionError, type Expression } from "./language/expression.ts";
import { type PrometheusResponse, type PrometheusRequest, success } from "./prometheus-api.ts";
import { callerCatalog, type CallerCatalog, readExpression } from "./request/read-expression.ts";
import { isBeforeNow, readLookUpTimes, type LookUpTimes } from "./request/read-parameters.ts";

type ExemplarSources = Pick<MetricsApi, "query" | "describe" | "readable" | "admitEmpty">;

/**
 * `query_exemplars`: the exemplars of the queries that an expression compiles to, each read as the metrics API reads
 * it. An expression that is no such query has none: Grafana probes with `test`. Nor has one that matches series with or
 * without a label.
 *
 * @throws ApiError
 */
export async function handleExemplars(
  sources: ExemplarSources,
  request: PrometheusRequest,
): Promise<PrometheusResponse> {
  const expression = readExpression(request.params);
  // A native query has no filter for series without a label.
  const selectors = selectorsOf(callerCatalog(sources, request), expression).filter(({ filters }) =>
    filters.values().every((values) => values.length > 0 && !values.includes("")),
  );
  const series: object[] = [];
  const warnings = new Set<string>();
  let headers: PrometheusResponse["headers"] = {};
  const times = readLookUpTimes(request.params, request.context.nowMs);
  const wanted = isBeforeNow(request) ? selectors : [];
  if (wanted.length === 0) return success([], await sources.admitEmpty(request.caller));
  for (const selector of wanted) {
    const known = sources.describe(selector.metric, request.caller);
    const stepMs = Math.max((known?.metric.minStepSeconds ?? 0) * 1_000, stepMsMin);
    const widened = wholePoints(times, stepMs, request.context.nowMs);
    const longestMs = (known?.maxWindowSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
    const read = { ...widened, startMs: Math.max(widened.startMs, widened.endMs - longestMs) };
    if (read.startMs > times.startMs) warnings.add(cutOff(read.startMs));
    const response = await sources.query(
      nativeParameters(selector, request, read),
      request.caller,
      request.signal,
      request.context,
    );
    headers = response.headers;
    const { data } = response.body as QueryAnswer;
    series.push(...data.flatMap((one) => ofSeries(one, times)));
  }
  return success(series, quotaHeaders(headers), { warnings: [...warnings] });
}

/** Clients that mean no bound send the least time there is. */
function cutOff(startMs: number): string {
  return `the range is longer than this caller's class allows; exemplars before ${formatTime(startMs)} are omitted`;
}

function selectorsOf({ lookUp, names }: CallerCatalog, expression: Expression): readonly MetricSelector[] {
  const compiled = resultOrError(() => compileExpression(expression, lookUp, names), ExpressionError);
  return compiled instanceof ExpressionError ? [] : compiled.selectors;
}

/** The native query of a selector. */
function nativeParameters(
  selector: MetricSelector,
  { tenant }: PrometheusRequest,
  { startMs, endMs }: LookUpTimes,
): Parameters {
  const { metric, measure, groupBy } = selector;
  const filters = new Map(selector.filters);
  if (tenant !== undefined && !filters.has("tenant")) filters.set("tenant", [tenant]);
  return new Map<string, readonly string[]>([
    ["metric", [metric]],
    ["exemplars", ["true"]],
    ["from", [formatTime(startMs)]],
    ["to", [formatTime(endMs)]],
    ...(measure.kind === "aggregation" ? [["agg", [measure.aggregation]] as const] : []),
    ...(groupBy.length === 0 ? [] : [["group_by", [groupBy.join(",")]] as const]),
    ...[...filters].map(([label, values]) => [`filter_in[${label}]`, values] as const),
  ]);
}

/** Smallest step of public callers, which no class exceeds by default. */
const stepMsMin = 60_000;

/**
 * Widens a range to whole points, since a query has none for a part of one. At most one point is added on each side,
 * since the newest exemplars of a series are returned and not all.
 */
function wholePoints({ startMs, endMs }: LookUpTimes, stepMs: number, nowMs: number): LookUpTimes {
  const widened = { startMs: Math.floor(startMs / stepMs) * stepMs, endMs: Math.ceil(endMs / stepMs) * stepMs };
  const isOpen = widened.endMs > nowMs;
  return { startMs: Math.max(0, widened.startMs - (isOpen ? stepMs : 0)), endMs: Math.min(nowMs, widened.endMs) };
}

function ofSeries(
  { metric, labels, exemplars = [] }: Pick<QueryItem, "metric" | "labels" | "exemplars">,
  { startMs, endMs }: LookUpTimes,
): readonly object[] {
  const own = exemplars
    .map((exemplar) => ({ ...exemplar, ms: Date.parse(exemplar.timestamp) }))
    .filter(({ ms }) => ms >= startMs && ms <= endMs)
    .map(({ trace_id, ms, value }) => ({ labels: { trace_id }, value: String(value), timestamp: ms / 1_000 }));
  if (own.length === 0) return [];
  return [{ seriesLabels: { __name__: metric, ...labels }, exemplars: own }];
}

/** The rest of the quotas and the cost; the others are about the bytes of a native response. */
function quotaHeaders(headers: PrometheusResponse["headers"]): PrometheusResponse["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:X-)?Rate|^X-Query-Cost/iu.test(name)));
}
