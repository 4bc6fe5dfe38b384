import { listNames } from "../authorization/access.ts";
import type { Stores } from "../../stores/store.ts";
import type { PointSource, SourcedRange } from "../cache/extents.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import type { QueryStores, RecordedRead } from "../reads/store-middleware.ts";
import type { Result } from "../reads/run-plan.ts";
import { formatTime } from "../request/time.ts";
import { extentStatuses } from "../response/response-headers.ts";
import type { QueryData } from "../response/snapshots.ts";

interface Explained extends Pick<QueryData, "source" | "nowMs"> {
  /** The stores as the query read them; then, as it read the earlier window. */
  readonly stores: readonly QueryStores[];
  /** Of the window; then, of the earlier window. */
  readonly estimates: readonly number[];
  readonly result: Pick<Result, "ranked">;
}

/** A response with its explanation in the body: the plan, the requests to each store, and the source of the points. */
export function explainResponse(response: MetricsResponse, plan: Plan, explained: Explained): MetricsResponse {
  return { ...response, json: undefined, body: { ...response.body, explain: explanationOf(plan, explained) } };
}

function explanationOf(plan: Plan, { estimates, stores, result: { ranked }, ...read }: Explained): object {
  const { query, earlier } = plan;
  const [own, ofEarlier] = stores;
  return {
    class: query.quota.queryClass,
    points: plan.grid.count,
    tenant: query.tenant,
    environments: listNames(query.environments),
    regions: query.regions,
    cost_estimate: estimates[0] ?? 0,
    ...(ranked === undefined ? {} : { top: ranked }),
    metrics: query.metrics.map((metric) => explainMetric(metric, plan)),
    ...(own === undefined ? {} : { stores: explainStores(plan, own, read) }),
    ...(earlier === undefined || ofEarlier === undefined
      ? {}
      : { compare: { cost_estimate: estimates[1] ?? 0, stores: explainStores(earlier, ofEarlier, read) } }),
  };
}

function explainStores(plan: Plan, stores: QueryStores, read: Pick<QueryData, "source" | "nowMs">): readonly object[] {
  const context = { ...read, sourcedRanges: stores.counts().sourcedRanges };
  const byStore = Map.groupBy(plan.parts, ({ store }) => store.key);
  return [...byStore].map(([key, parts]) => ({
    ...explainStore(parts, plan, context),
    ...explainCapabilities(key, stores.stores),
    reads: stores.reads.filter(({ store }) => store === key).map(explainRead),
  }));
}

function explainMetric(metric: QueriedMetric, { parts }: Plan): object {
  const { entry, aggregation, recipe } = metric;
  const own = parts.filter((part) => part.metric === metric);
  return {
    metric: entry.metric.id,
    aggregation,
    kind: entry.metric.source.kind,
    stores: own.length,
    ranges: own[0]?.ranges.length ?? 0,
    partials:
      "statistics" in recipe
        ? recipe.statistics.map(({ name, merge }) => ({ name, merge }))
        : [{ name: "buckets", merge: "sum" }],
  };
}

function explainCapabilities(key: string, stores: Stores): object {
  // A later configuration can lack the store.
  const known = stores
    .list()
    .find(([name]) => name === key)?.[1]
    .knownCapabilities();
  return known === undefined ? {} : { boundary: known.boundary, anchored: known.anchored };
}

interface ExtentContext extends Pick<QueryData, "source" | "nowMs"> {
  /** The sources of the points of each store. */
  readonly sourcedRanges: readonly SourcedRange[];
}

function explainStore(parts: readonly PlannedPart[], plan: Plan, context: ExtentContext): object {
  const [first] = parts;
  if (first === undefined) return {};
  const { key, config: store } = first.store;
  const { name, region, residency, settleSeconds } = store;
  return { store: name, region, residency, extents: explainExtents(plan, key, settleSeconds, context) };
}

const reasons: Readonly<Record<PointSource | "snapshot", string>> = {
  memory: "read by this pod within the cache lifetime of the class",
  finer: "rolled up exactly from narrower points that this pod read within the cache lifetime of the class",
  shared: "read by another pod within the cache lifetime of the class",
  stale: "read by this pod; the cache lifetime has expired, so it is refreshed in the background",
  store: "not cached within the cache lifetime of the class, so the store was read",
  snapshot: "from the data of an earlier page",
};

/** The sources of the points of a store, split into points that had settled and points that could still change. */
function explainExtents(
  { grid }: Plan,
  key: string,
  settleSeconds: number,
  { source: data, nowMs, sourcedRanges }: ExtentContext,
): readonly object[] {
  const { startMs, stepMs, count } = grid;
  const settled = Math.min(count, Math.max(0, Math.floor((nowMs - settleSeconds * 1_000 - startMs) / stepMs) + 1));
  const own = sourcedRanges.filter(({ store }) => store === key);
  const statuses = data === "snapshot" ? [{ offset: 0, count, source: data }] : extentStatuses(own, grid);
  return statuses.flatMap(({ source, offset, count: points }) => {
    const seam = Math.min(offset + points, Math.max(offset, settled));
    const explain = (state: string, from: number, to: number): readonly object[] => {
      const times = { from: formatTime(startMs + (from - 1) * stepMs), to: formatTime(startMs + (to - 1) * stepMs) };
      return from === to ? [] : [{ ...times, state, source, reason: reasons[source] }];
    };
    return [...explain("settled", offset, seam), ...explain("hot", seam, offset + points)];
  });
}

function explainRead({ api, promql, durationMs, outcome, series, error }: RecordedRead): object {
  return {
    api,
    promql,
    duration_ms: Math.round(durationMs * 10) / 10,
    outcome,
    series,
    ...(error === undefined ? {} : { error }),
  };
}
