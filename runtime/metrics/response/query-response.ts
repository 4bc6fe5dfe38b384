// Bodies and headers of queries, of the catalog and of explanations, with the cached responses and page snapshots.
// It reads no store.
import type { QueryItem } from "../../../api/queries.ts";
import type { TimeSlices } from "../../../limits/clock.ts";
import type { ErrorBounds } from "../merge/quantile.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import { changeOf } from "../reads/compare-windows.ts";
import { recoveryHints } from "../reads/region-status.ts";
import type { Result, ResultSeries } from "../reads/run-plan.ts";
import { commaHints } from "../request/known-names.ts";
import { formatDuration, formatTime, formatTimes } from "../request/time.ts";
import { pointTimes } from "../request/window.ts";
import { queryJson } from "./query-json.ts";
import {
  contentId,
  deprecationHeaders,
  deprecationNotices,
  describePlan,
  oneOrMixed,
  responseHeaders,
} from "./response-headers.ts";

interface ResponseContext {
  /** Name of the data of all pages. */
  readonly snapshot: string;
  /** Schedules the writing of large bodies. */
  readonly slices: TimeSlices;
  /** `X-Query-Cache`. */
  readonly cache: string;
}

/** Body and headers of a query. */
export function queryResponse(plan: Plan, result: Result, context: ResponseContext): MetricsResponse {
  const { window } = plan.query;
  const times = once(() => formatTimes(pointTimes(window)));
  const { rest, ...response } = responseOf(plan, result, context, {
    item: ({ metric, labels, values, bounds, exemplars, rank, other, previous }) => ({
      metric,
      labels,
      points: presentPoints(times(), values),
      ...(bounds === undefined ? {} : { error_bounds: errorBounds(values, bounds) }),
      ...(exemplars === undefined ? {} : { exemplars }),
      ...(rank === undefined ? {} : { rank }),
      ...(other === undefined ? {} : { other }),
      ...(previous === undefined ? {} : comparedPoints(times(), values, previous)),
    }),
    meta: {
      from: formatTime(window.fromMs),
      to: formatTime(window.toMs),
      ...(result.earlier === undefined ? {} : { compare: result.earlier }),
      ...(result.ranked === undefined ? {} : { top: { ...plan.query.ranking, metrics: result.ranked } }),
    },
  });
  const page = pageOf(result, plan.query);
  // Once for all codings.
  return { ...response, json: once(() => queryJson({ page, rest, window }, context.slices)) };
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** The series of one page. */
export function pageOf({ series }: Result, { page, limit }: Query): readonly ResultSeries[] {
  return series.slice((page - 1) * limit, page * limit);
}

/** Body and headers of an instant. */
export function instantResponse(plan: Plan, result: Result, context: ResponseContext): MetricsResponse {
  const ts = formatTime(plan.query.window.toMs);
  const { rest: _rest, ...response } = responseOf(plan, result, context, {
    item: ({ metric, labels, values, bounds, exemplars }) => ({
      metric_id: metric,
      labels,
      timestamp: ts,
      value: values[0],
      ...(bounds === undefined ? {} : { error_bounds: errorBounds(values, bounds)[0] }),
      ...(exemplars?.[0] === undefined ? {} : { exemplar: exemplars[0] }),
    }),
    meta: { ts },
  });
  return response;
}

interface Shape {
  readonly item: (series: ResultSeries) => object;
  readonly meta: object;
}

/** A response, and its body without the data. */
function responseOf(
  plan: Plan,
  result: Result,
  context: ResponseContext,
  { item, meta }: Shape,
): MetricsResponse & { readonly rest: object } {
  const { query } = plan;
  const metrics = query.metrics.map(({ entry }) => entry.metric);
  const deprecated = deprecationNotices(metrics);
  const hints = [...(result.series.length === 0 ? commaHints(query.filters) : []), ...(result.hints ?? [])];
  const page = pageOf(result, query);
  const about = {
    ...meta,
    schema_version: query.schemaVersion,
    step: formatDuration(query.window.stepSeconds),
    ...aggregationsOf(query),
    downsample: query.window.downsample ?? "none",
    group_by: query.groupBy,
    page: query.page,
    limit: query.limit,
    total_series: result.series.length,
    has_more: result.series.length > query.page * query.limit,
    snapshot: context.snapshot,
    partial: result.partial,
    regions: result.regions,
    ...(result.exemplarsHidden === 0 ? {} : { exemplars_hidden: result.exemplarsHidden }),
    ...(result.infinitePoints === undefined ? {} : { infinite_points: result.infinitePoints }),
    ...(deprecated.length === 0 ? {} : { deprecated }),
    ...(hints.length === 0 ? {} : { hints }),
  };
  const errors = errorsOf(result);
  // Series and values enter the id by the snapshot, which is their digest.
  const id = contentId([about, errors, page.map(({ exemplars }) => exemplars)]);
  const rest = { ...errors, meta: { correlation_id: id, ...about } };
  const data = once(() => page.map(item));
  return {
    status: result.partial ? 206 : 200,
    headers: {
      ...responseHeaders({
        freshness: [result.freshnessSeconds],
        downsample: about.downsample,
        partial: result.partial,
        plan: describePlan(plan),
        cache: context.cache,
        shards: result.shards,
      }),
      ...recoveryHints(result, query),
      ...deprecationHeaders(metrics),
    },
    body: {
      // Seldom read, since queryJson writes the points without a list of them.
      get data() {
        return data();
      },
      ...rest,
    },
    rest,
  };
}

/** The errors of metrics that failed alone, next to the data of the others. */
function errorsOf({ failures }: Result): { readonly errors?: readonly object[] } {
  if (failures.length === 0) return {};
  return {
    errors: failures.map(({ metric, error: { status, code, message: detail } }) => ({
      metric,
      status,
      code,
      detail,
    })),
  };
}

/** The aggregation of all metrics; where their defaults differ, `mixed` and the aggregation of each. */
function aggregationsOf({ metrics }: Query): object {
  const agg = oneOrMixed(metrics.map(({ aggregation }) => aggregation));
  if (agg !== "mixed") return { agg };
  return { agg, aggregations: Object.fromEntries(metrics.map((own) => [own.entry.metric.id, own.aggregation])) };
}

/** The bounds of the present points, in their order. */
function errorBounds(values: Float64Array, { low, high }: ErrorBounds): NonNullable<QueryItem["error_bounds"]> {
  const bound = (value: number | undefined): number | null => (Number.isFinite(value) ? (value ?? null) : null);
  const all = Array.from(low, (value, index): [number | null, number | null] => [bound(value), bound(high[index])]);
  return all.filter((_, index) => !Number.isNaN(values[index]));
}

/** The points of the earlier window, and the change of each point of this one. */
function comparedPoints(times: readonly string[], values: Float64Array, previous: Float64Array): object {
  return { previous: presentPoints(times, previous), change: errorBounds(values, changeOf(values, previous)) };
}

function presentPoints(times: readonly string[], values: Float64Array): QueryItem["points"] {
  const all = times.map((time, index) => [time, values[index] ?? Number.NaN] as const);
  return all.filter(([, value]) => !Number.isNaN(value));
}
