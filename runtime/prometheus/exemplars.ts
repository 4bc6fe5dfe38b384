import type { Leaf } from "../metrics/leaves/leaf.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import type { Parameters } from "../metrics/request/parameters.ts";
import { compileExpression } from "./compile/compile.ts";
import { ExpressionError, type Expression } from "./language/expression.ts";
import type { PrometheusAnswer, PrometheusRequest } from "./prometheus-api.ts";
import { callerCatalog } from "./request/caller-catalog.ts";
import { readLookUpTimes } from "./request/read-parameters.ts";
import { readExpression, type CallerCatalog } from "./request/read-expression.ts";
import { success } from "./success.ts";

type ExemplarSources = Pick<MetricsApi, "query" | "describe" | "readable">;

/** A series of a native response with its exemplars. */
interface NativeSeries {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly exemplars?: readonly { readonly trace_id: string; readonly timestamp: string; readonly value: number }[];
}

/**
 * `query_exemplars`: the exemplars of the queries that an expression compiles to, each read as the metrics API reads
 * it. An expression that is no such query has none: Grafana probes with `test`.
 *
 * @throws Refusal
 */
export async function answerExemplars(sources: ExemplarSources, request: PrometheusRequest): Promise<PrometheusAnswer> {
  const expression = readExpression(request.params);
  const leaves = leavesOf(callerCatalog(sources, request), expression);
  const series: object[] = [];
  let headers: PrometheusAnswer["headers"] = {};
  for (const params of leaves.flatMap((leaf) => nativeParameters(leaf, request) ?? [])) {
    const response = await sources.query(params, request.caller, request.signal, request.context);
    headers = response.headers;
    series.push(...(response.body as { readonly data: readonly NativeSeries[] }).data.flatMap(ofSeries));
  }
  return success(series, quotaHeaders(headers));
}

function leavesOf({ lookUp, names }: CallerCatalog, expression: Expression): readonly Leaf[] {
  try {
    return compileExpression(expression, lookUp, names).leaves;
  } catch (error) {
    if (error instanceof ExpressionError) return [];
    throw error;
  }
}

/** The native query of a leaf; undefined for several values of one label, which it cannot name. */
function nativeParameters(leaf: Leaf, { params, tenant, context }: PrometheusRequest): Parameters | undefined {
  const { metric, measure, groupBy } = leaf;
  const filters = new Map(leaf.filters);
  if (tenant !== undefined && !filters.has("tenant")) filters.set("tenant", [tenant]);
  if ([...filters.values()].some((values) => values.length > 1)) return undefined;
  const { startMs, endMs } = readLookUpTimes(params, context.nowMs);
  return new Map<string, readonly string[]>([
    ["metric", [metric]],
    ["exemplars", ["true"]],
    ["from", [new Date(startMs).toISOString()]],
    ["to", [new Date(endMs).toISOString()]],
    ...(measure.kind === "aggregation" ? [["agg", [measure.aggregation]] as const] : []),
    ...(groupBy.length === 0 ? [] : [["group_by", [groupBy.join(",")]] as const]),
    ...[...filters].map(([label, values]) => [`filter[${label}]`, values] as const),
  ]);
}

function ofSeries({ metric, labels, exemplars = [] }: NativeSeries): readonly object[] {
  if (exemplars.length === 0) return [];
  const own = exemplars.map(({ trace_id, timestamp, value }) => {
    return { labels: { trace_id }, value: String(value), timestamp: Date.parse(timestamp) / 1_000 };
  });
  return [{ seriesLabels: { __name__: metric, ...labels }, exemplars: own }];
}

/** The rest of the quotas and the cost; the others are about the bytes of a native response. */
function quotaHeaders(headers: PrometheusAnswer["headers"]): PrometheusAnswer["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:X-)?Rate|^X-Query-Cost/iu.test(name)));
}
