import { Refusal } from "../../errors/refusal.ts";
import type { Stores } from "../../stores/store-set.ts";
import { extentStatuses, type PointSource, type SourcedRange } from "../cache/cache-status.ts";
import type { RecordedRead } from "../execution/record-reads.ts";
import type { QueryStores } from "../execution/store-middleware.ts";
import { explainScope, type Caller } from "../authorization/caller.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import { type Parameters, readWord } from "../request/parameters.ts";
import type { PlannedPart, Plan } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import { formatTime } from "../request/time.ts";
import type { QueryData } from "./snapshot-page.ts";

/**
 * Takes `explain` out of the parameters: it changes what is said of an answer, never the answer.
 *
 * @throws Refusal `invalid_request` for another word than `true` and `false`, `scope_missing`
 */
export function takeExplain(
  params: Parameters,
  caller: Caller,
): { readonly params: Parameters; readonly explain: boolean } {
  const explain = readWord(params, "explain", ["true", "false"]) === "true";
  if (explain && !caller.scopes.includes(explainScope)) {
    throw new Refusal("scope_missing", `explain=true needs the scope ${explainScope}`);
  }
  return { params: new Map([...params].filter(([name]) => name !== "explain")), explain };
}

/** What an explanation is made of. */
interface Explained extends Pick<QueryData, "source" | "nowMs"> {
  /** The stores as the query read them. */
  readonly stores: QueryStores;
  readonly costEstimate: number;
}

/** A response with its explanation in the body: the plan, the requests to each store, and the source of the points. */
export function explainResponse(response: MetricsResponse, plan: Plan, explained: Explained): MetricsResponse {
  return { ...response, json: undefined, body: { ...response.body, explain: explanationOf(plan, explained) } };
}

function explanationOf(plan: Plan, { costEstimate, stores, source, nowMs }: Explained): object {
  const { query } = plan;
  const found = { source, nowMs, sourcedRanges: stores.counts().sourcedRanges };
  const byStore = Map.groupBy(plan.parts, ({ store }) => store.key);
  return {
    class: query.quota.queryClass,
    tenant: query.tenant,
    environments: query.environments === "every" ? "every" : [...query.environments].sort(),
    regions: query.regions,
    cost_estimate: costEstimate,
    metrics: query.metrics.map(explainMetric),
    stores: [...byStore].map(([key, parts]) => ({
      ...explainStore(parts, plan, found),
      ...explainCapabilities(key, stores.stores),
      reads: stores.reads.filter((read) => read.store === key).map(explainRead),
    })),
  };
}

function explainMetric({ entry, aggregation, recipe }: QueriedMetric): object {
  return {
    metric: entry.metric.id,
    aggregation,
    kind: entry.metric.source.kind,
    partials:
      "statistics" in recipe
        ? recipe.statistics.map(({ name, merge }) => ({ name, merge }))
        : [{ name: "buckets", merge: "sum" }],
  };
}

function explainCapabilities(key: string, stores: Stores): object {
  // A store that the configuration has lost since is not there any more.
  const known = stores
    .list()
    .find(([name]) => name === key)?.[1]
    .knownCapabilities();
  return known === undefined ? {} : { boundary: known.boundary, anchored: known.anchored };
}

/** What the extents of an answer are told by. */
interface ExtentContext extends Pick<QueryData, "source" | "nowMs"> {
  /** Where the points of each store came from. */
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
  memory: "read by this pod within the lifetime of the class",
  finer: "merged, exactly, from narrower points that this pod read within the lifetime of the class",
  shared: "read by another pod within the lifetime of the class",
  stale: "read by this pod, and read again in the background since its lifetime is over",
  store: "not known, or no longer within the lifetime of the class, so the store was asked",
  snapshot: "cut from the data that an earlier page was cut from",
};

/**
 * Where the points of a store came from, apart for those that had settled when they were read and those that could
 * still change.
 */
function explainExtents(
  { grid }: Plan,
  key: string,
  settleSeconds: number,
  { source, nowMs, sourcedRanges }: ExtentContext,
): readonly object[] {
  const { startMs, stepMs, count } = grid;
  const settled = Math.min(count, Math.max(0, Math.floor((nowMs - settleSeconds * 1_000 - startMs) / stepMs) + 1));
  const own = sourcedRanges.filter(({ store }) => store === key);
  const verdicts = source === "snapshot" ? [{ offset: 0, count, origin: source }] : extentStatuses(own, grid);
  return verdicts.flatMap(({ origin, offset, count: points }) => {
    const seam = Math.min(offset + points, Math.max(offset, settled));
    const told = (state: string, from: number, to: number): readonly object[] => {
      const times = { from: formatTime(startMs + (from - 1) * stepMs), to: formatTime(startMs + (to - 1) * stepMs) };
      return from === to ? [] : [{ ...times, state, source: origin, reason: reasons[origin] }];
    };
    return [...told("settled", offset, seam), ...told("hot", seam, offset + points)];
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
