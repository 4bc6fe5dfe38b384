import type { TimeSlices } from "../bounds/time-slices.ts";
import { Refusal } from "../errors/refusal.ts";
import { createByteBudget } from "../stores/limits/byte-budget.ts";
import type { Stores } from "../stores/store-set.ts";
import type { AdmitQuery, AdmittedQuery } from "./admission/admission.ts";
import { instantResponse, queryResponse } from "./response/query-response.ts";
import { pointsOf, type CachedQuery } from "./repeat-query.ts";
import type { ResponseCache } from "./cache/response-cache.ts";
import { cachedStores, type CachedStores } from "./cache/cached-stores.ts";
import { extentStatuses, tellExtents } from "./cache/cache-status.ts";
import type { PointCounts } from "./cache/hit-ratio.ts";
import type { ReadCache } from "./cache/read-cache.ts";
import { explainScope, type Caller } from "./authorization/caller.ts";
import type { ClassBulkheads } from "./execution/class-bulkheads.ts";
import { refuseSunset } from "./catalog/deprecation.ts";
import { explanationOf, takeExplain } from "./response/explain.ts";
import { recordReads, type RecordedStores } from "./execution/record-reads.ts";
import { later } from "./execution/freshness.ts";
import { findResponse, storeResponse, newResponseHeaders } from "./response/cached-response.ts";
import { noStore } from "./response/response-headers.ts";
import { lifetimesOf } from "./cache/extents.ts";
import type { Again, MetricsResponse, RequestContext } from "./metrics-api.ts";
import type { Parameters } from "./request/parameters.ts";
import { makePlan, type Plan } from "./planning/plan.ts";
import { makeInstant, makeQuery, type Query, type QueryContext } from "./planning/query.ts";
import type { PartOutcome } from "./execution/read-stores.ts";
import { runPlan, type Result } from "./execution/run-plan.ts";
import { createServerTiming, type ServerTiming } from "./response/server-timing.ts";
import { requireSnapshot, snapshotOf } from "./response/snapshot-id.ts";
import type { Snapshots } from "./response/snapshot-store.ts";

const routes = {
  query: { make: makeQuery, answer: queryResponse },
  instant: { make: makeInstant, answer: instantResponse },
} as const;

/** What a query is answered by. */
export type QueryRoute = keyof typeof routes;

/** One query of one caller. */
interface QueryRequest {
  readonly params: Parameters;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

/** What queries of all classes share besides what they know. */
interface Scheduling {
  /** Bounds what each class asks of a store at once. */
  readonly bulkheads: ClassBulkheads;
  /** In which answers are put together. */
  readonly slices: TimeSlices;
}

/** What a query is answered from. */
export interface QuerySources {
  readonly queryContext: QueryContext;
  readonly stores: Stores;
  /** The same for reads that go on when the query is answered. */
  readonly lasting: Stores;
  /** What keeps long queries from holding up short ones. */
  readonly scheduling: Scheduling;
  readonly snapshots: Snapshots;
  readonly cache: ReadCache;
  readonly answers: ResponseCache;
  /** Told how much of what was wanted was known. */
  readonly looked: (counts: PointCounts) => void;
  /** Bound on all stores together. */
  readonly deadlineMs: number;
  /** Lets a plan in before it is carried out. */
  readonly admit: AdmitQuery;
  /** Told how each store ended. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
  /** How a query that was answered from what is kept is answered again. @default as if it were new */
  readonly remember?: (answered: CachedQuery) => Again;
}

/** The data of an answer and where it is from. */
interface Found {
  readonly result: Result;
  readonly snapshot: string;
  readonly source: "store" | "snapshot";
  /** When it was read. */
  readonly nowMs: number;
}

/**
 * Answers one query: the closed query, its plan, the stores or what is kept of an earlier page, the page. Source: seed
 * "Operational Metrics API" §4.1 and §4.3, design §5.
 *
 * @throws Refusal for what the caller did wrong and for stores that all failed; the signal's reason
 */
export async function handleQuery(
  route: QueryRoute,
  request: QueryRequest,
  sources: QuerySources,
): Promise<MetricsResponse> {
  const { caller, context } = request;
  const timing = createServerTiming();
  timing.step("query");
  const { params, explain } = takeExplain(request.params, caller);
  const asOfMs = asOf(params, context.nowMs, sources.snapshots);
  const query = routes[route].make(params, caller, sources.queryContext, asOfMs);
  refuseSunset(
    query.metrics.map(({ entry }) => entry.metric),
    context.nowMs,
  );
  const plan = makePlan(query, asOfMs);
  const admitted = await sources.admit(plan, caller);
  const answering = { route, plan, admitted, explain, timing };
  try {
    const { headers, ...answer } =
      known(answering, request, sources) ?? (await handleUncached(answering, request, sources));
    return { ...answer, headers: { ...headers, ...admitted.headers() } };
  } catch (error) {
    throw error instanceof Refusal ? error.with(admitted.headers()) : error;
  } finally {
    admitted.end();
  }
}

interface Answering {
  readonly route: QueryRoute;
  readonly plan: Plan;
  readonly admitted: AdmittedQuery;
  readonly explain: boolean;
  readonly timing: ServerTiming;
}

/** What an equal query was answered of late. */
function known(
  { route, plan, admitted, explain }: Answering,
  { caller, context }: QueryRequest,
  sources: QuerySources,
): MetricsResponse | undefined {
  const found = explain ? undefined : findResponse(sources.answers, route, plan, context.nowMs);
  if (found === undefined) return undefined;
  admitted.charge([], 0);
  sources.looked(pointsOf(plan));
  const again = sources.remember?.({ plan, caller, found });
  return { ...found.answer, ...(again === undefined ? {} : { again }) };
}

async function handleUncached(
  answering: Answering,
  request: QueryRequest,
  sources: QuerySources,
): Promise<MetricsResponse> {
  const { route, plan, admitted, explain, timing } = answering;
  const { nowMs } = request.context;
  timing.step("stores");
  const recorded: RecordedStores = explain ? recordReads(sources.stores) : { stores: sources.stores, reads: [] };
  const {
    scheduling: { bulkheads, slices },
    lasting,
    cache,
  } = sources;
  const { queryClass } = plan.query.quota;
  const options = { lifetimes: lifetimesOf(plan.query), nowMs, lasting: bulkheads.of(queryClass, lasting) };
  const cached = cachedStores(bulkheads.of(queryClass, recorded.stores), cache, options);
  const observe = observed(sources, admitted, () => shareRead(cached));
  const found = await find(plan, request, { ...sources, stores: cached.stores, observe });
  if (found.source === "snapshot") admitted.charge([], 0);
  else sources.looked(cached.counts());
  timing.step("answer");
  const made = {
    answer: routes[route].answer(plan, found.result, {
      snapshot: found.snapshot,
      slices,
      cache: cacheStatus(found, cached, plan),
    }),
    nowMs,
    oldest: cached.counts().oldest,
  };
  const { headers, ...others } = made.answer;
  const isStale = cached.counts().stale > 0;
  const own = {
    ...(isStale ? noStore : newResponseHeaders(plan, made)),
    "Server-Timing": timing.header(),
  };
  const answer = { ...others, headers: { ...headers, ...own } };
  if (explain)
    return {
      ...answer,
      json: undefined,
      body: {
        ...answer.body,
        explain: explanationOf(plan, recorded, {
          ...found,
          costEstimate: admitted.estimate,
          sourcedRanges: cached.counts().sourcedRanges,
        }),
      },
    };
  if (found.source === "store" && !isStale) storeResponse(sources.answers, route, plan, { ...made, answer });
  return answer;
}

/** Share of the points that a store had to compute: also of those that are read again because of this query. */
function shareRead(cached: CachedStores): number {
  const { hit, miss, renewed } = cached.counts();
  return hit + miss === 0 ? 1 : (miss + renewed) / (hit + miss);
}

function observed({ observe }: QuerySources, admitted: AdmittedQuery, share: () => number): QuerySources["observe"] {
  return (outcomes) => {
    admitted.charge(outcomes, share());
    observe(outcomes);
  };
}

/** A page of data that is kept is asked as of when the data was read, so that its window is the same one. */
function asOf(params: Parameters, nowMs: number, snapshots: Snapshots): number {
  const [pinned] = params.get("snapshot") ?? [];
  return (pinned === undefined ? undefined : snapshots.readAtMs(pinned, nowMs)) ?? nowMs;
}

async function find(plan: Plan, { signal, context, caller }: QueryRequest, sources: QuerySources): Promise<Found> {
  const { query } = plan;
  const { nowMs, correlationId } = context;
  const { snapshots, stores, deadlineMs, observe } = sources;
  const kept = keptPage(query, nowMs, snapshots);
  if (kept !== undefined) return kept;
  const bytes = createByteBudget();
  const result = await runPlan(plan, stores, {
    deadlineMs,
    signal,
    bytes,
    nowMs,
    correlationId,
    observe,
    slices: sources.scheduling.slices,
    tellsRefusals: caller.scopes.includes(explainScope),
  });
  const snapshot = snapshotOf(result, query);
  requireSnapshot(query.snapshot, snapshot);
  if (result.series.length > query.limit) snapshots.keep(snapshot, query, { result, nowMs });
  return { result, snapshot, source: "store", nowMs };
}

function keptPage(query: Query, nowMs: number, snapshots: Snapshots): Found | undefined {
  if (query.snapshot === undefined) return undefined;
  const kept = snapshots.find(query.snapshot, query, nowMs);
  if (kept === undefined || (query.isCompleteRequired && kept.result.partial)) return undefined;
  const agedSeconds = Math.ceil((nowMs - kept.nowMs) / 1_000);
  const result = { ...kept.result, freshnessSeconds: later(kept.result.freshnessSeconds, agedSeconds) };
  return { result, snapshot: query.snapshot, source: "snapshot", nowMs: kept.nowMs };
}

/**
 * `memory;hit=230;shared=20;miss=10;extents="memory*210 shared*20 store*10"`: points of all ranges, of the hits those
 * that were merged from narrower points, that another pod read and that were stale, and for the points of the answer in
 * their order where each extent came from. Source: seed "Operational Metrics API" §6.
 */
function cacheStatus({ source }: Found, cached: CachedStores, { grid }: Plan): string {
  if (source === "snapshot") return "snapshot";
  const { hit, finer, shared, stale, miss, isOn, sourcedRanges } = cached.counts();
  const some = (name: string, count: number): string => (count === 0 ? "" : `;${name}=${count}`);
  if (!isOn) return "off";
  const hits = `hit=${hit}${some("finer", finer)}${some("shared", shared)}${some("stale", stale)}`;
  return `memory;${hits};miss=${miss};extents="${tellExtents(extentStatuses(sourcedRanges, grid))}"`;
}
