import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { AdmitRepeats } from "../admission/admission.ts";
import type { Caller } from "../authorization/access.ts";
import { type Lifetimes, lifetimesOf, type OldestReads } from "../cache/extents.ts";
import type { PointCounts } from "../cache/read-cache.ts";
import type { AgeHeaders, MetricsResponse } from "../metrics-api.ts";
import { isPastSunset } from "../planning/catalog-entry.ts";
import { type Plan, plansOf } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import { bytesOfSeries } from "../reads/finish-metric.ts";
import { agedSeconds } from "../reads/read-newest.ts";
import type { ResultSeries } from "../reads/run-plan.ts";
import { describePlan, freshnessHeader, freshnessOf, noStore } from "./response-headers.ts";
import { identityOf, keepsWindow } from "./snapshots.ts";

/** Bytes of a response besides its series: headers, members, objects. */
const responseBytes = 8_192;

/** The cached response to an equal query. */
export interface FoundResponse {
  /** Its body is always the same object. */
  readonly response: MetricsResponse;
  /** The headers that depend on the time. */
  readonly aged: Readonly<Record<string, string>>;
  /** These headers at another time; undefined when the response is no longer in the cache or has expired. */
  readonly revalidate: (nowMs: number) => FoundResponse["aged"] | undefined;
}

/** A query with a cached response. */
export interface CachedQuery {
  readonly plan: Plan;
  readonly caller: Caller;
  readonly found: FoundResponse;
}

/** Finds the cached response to an equal query, and sets the headers of its age. */
export function findResponse(
  responses: ResponseCache,
  route: string,
  plan: Plan,
  nowMs: number,
): FoundResponse | undefined {
  const { query } = plan;
  if (query.snapshot !== undefined) return undefined;
  const key = keyOf(route, plan);
  const lifetimes = lifetimesOf(query);
  const cached = responses.find(key, lifetimes, nowMs);
  if (cached === undefined) return undefined;
  const agedAt = rememberAged(cached, query);
  const aged = agedAt(nowMs);
  const { headers, ...rest } = cached.response;
  // The class is the caller's own; the cached response can be of another.
  const own = { "X-Query-Plan": describePlan(plan), ...aged, "Server-Timing": "cache;desc=answer" };
  return {
    response: { ...rest, headers: { ...headers, ...own } },
    aged,
    revalidate: (atMs) => (responses.find(key, lifetimes, atMs) === cached ? agedAt(atMs) : undefined),
  };
}

/** The headers that depend on the age of a response. They are made again when a second in them changes. */
function rememberAged(cached: CachedResponse, query: Query): (nowMs: number) => FoundResponse["aged"] {
  const freshness = freshnessOf(cached.response.headers);
  const lifetime = lifetimeOf(cached, query);
  let known: { readonly seconds: readonly number[]; readonly headers: FoundResponse["aged"] } | undefined;
  return (nowMs) => {
    const ageSeconds = (nowMs - cached.madeAtMs) / 1_000;
    const lifetimeMs = lifetime(nowMs);
    const seconds = [Math.floor(ageSeconds), Math.ceil(ageSeconds), Math.floor(lifetimeMs / 1_000)] as const;
    if (known?.seconds.every((second, place) => second === seconds[place]) === true) return known.headers;
    const headers = {
      ...cacheControl(lifetimeMs),
      ...freshnessHeader([agedSeconds(freshness, seconds[1])]),
      "X-Query-Cache": `answer;age=${seconds[0]}`,
    };
    known = { seconds, headers };
    return headers;
  };
}

/** A response whose points were read now or earlier. */
interface NewResponse {
  readonly response: MetricsResponse;
  readonly nowMs: number;
  readonly oldest: OldestReads;
  /** Some points had expired and are read again in the background: no cache may store the response. */
  readonly isStale: boolean;
}

/**
 * Stores a response, unless it is partial or stale: the next query may get a better one. The response has no headers of
 * its caller.
 */
export function storeResponse(
  responses: ResponseCache,
  route: string,
  plan: Plan,
  { response, series, nowMs, oldest, isStale }: NewResponse & { readonly series: readonly ResultSeries[] },
): void {
  const { query } = plan;
  if (isStale || response.status !== 200 || query.snapshot !== undefined || query.quota.limits.memorySeconds === 0)
    return;
  const bytes = responseBytes + bytesOfSeries(series);
  responses.set(keyOf(route, plan), { response, madeAtMs: nowMs, isSettled: isSettledPlan(plan), oldest, bytes });
}

/** Limits how long the caller may cache a new response. Shared caches and partial responses are excluded. */
export function newResponseHeaders(
  plan: Plan,
  { response: { status }, nowMs, oldest, isStale }: NewResponse,
): Readonly<Record<string, string>> {
  const lifetimeMs = lifetimeOf({ isSettled: isSettledPlan(plan), madeAtMs: nowMs, oldest }, plan.query)(nowMs);
  return !isStale && status === 200 && lifetimeMs > 0 ? cacheControl(lifetimeMs) : noStore;
}

/** The time for which a caller may cache a response: at most the tail's lifetime if its window moves on before. */
function lifetimeOf(made: LifetimeOf, query: Query): (nowMs: number) => number {
  const lifetimes = lifetimesOf(query);
  const endMs = endOf(made, lifetimes);
  const mostMs = keepsWindow(query, endMs) ? Number.POSITIVE_INFINITY : lifetimes.tailMs;
  return (nowMs) => Math.min(endMs - nowMs, mostMs);
}

function cacheControl(lifetimeMs: number): Readonly<Record<string, string>> {
  return { "Cache-Control": `private, max-age=${Math.max(0, Math.floor(lifetimeMs / 1_000))}` };
}

/** Exemplars up to now are of the age of the response, like the points of its tail. */
function keyOf(route: string, { query, nowMs }: Plan): string {
  const { page, limit, exemplarsToMs = "" } = query;
  return `${route} ${page} ${limit} ${exemplarsToMs === nowMs ? "now" : exemplarsToMs} ${identityOf(query)}`;
}

/** Tests if no point of the window can change in any store. */
function isSettledPlan({ parts }: Plan): boolean {
  return parts.every((part) => part.isSettled);
}

/** A recent response without a missing part. */
interface CachedResponse {
  readonly response: MetricsResponse;
  /** Unix milliseconds of its creation. */
  readonly madeAtMs: number;
  /** Set when none of its points can change in the stores. */
  readonly isSettled: boolean;
  readonly oldest: OldestReads;
  /** Estimated size in memory. */
  readonly bytes: number;
}

/** Responses by the digest of everything that they depend on; the least recently used one is removed first. */
export interface ResponseCache {
  /** The response of this key, within the lifetimes of the caller's class. */
  find(key: string, lifetimes: Lifetimes, nowMs: number): CachedResponse | undefined;
  set(key: string, cached: CachedResponse): void;
}

type LifetimeOf = Pick<CachedResponse, "isSettled" | "madeAtMs" | "oldest">;

/** When one of the points of a response reaches its own lifetime, whichever caches that point came through. */
function endOf({ isSettled, madeAtMs, oldest }: LifetimeOf, lifetimes: Lifetimes): number {
  const { settledMs, tailMs, sharedMs = 0 } = lifetimes;
  return Math.min(
    madeAtMs + (isSettled ? settledMs : tailMs),
    oldest.settledMs + Math.max(settledMs, sharedMs),
    oldest.tailMs + tailMs,
  );
}

/** Creates an empty cache. @param bytesMax bound on all responses, by their estimates */
export function createResponseCache(bytesMax: number): ResponseCache {
  const responses = new BoundedMap<string, CachedResponse>(bytesMax, ({ bytes }) => bytes);
  return {
    find(key, lifetimes, nowMs) {
      const found = responses.get(key);
      if (found === undefined || endOf(found, lifetimes) <= nowMs) return undefined;
      return responses.use(key);
    },
    set: (key, cached) => responses.set(key, cached),
  };
}

/** The sources of repeats. */
export interface RepeatSources {
  readonly admitRepeats: AdmitRepeats;
  readonly countPoints: (counts: PointCounts) => void;
}

/**
 * Handles an equal query under the same configuration. Of its inputs, only the window and the sunset of its metrics
 * change with the time. Cost and quota are computed for each repeat query.
 */
export function repeatQuery(
  { plan, caller, found }: CachedQuery,
  { admitRepeats, countPoints }: RepeatSources,
): AgeHeaders {
  const { query } = plan;
  const counts = pointsOf(plan);
  const admit = admitRepeats(plansOf(plan), caller);
  return (nowMs) => {
    const aged = isStillCurrent(query, nowMs) ? found.revalidate(nowMs) : undefined;
    const admitted = aged && admit();
    if (admitted === undefined) return undefined;
    countPoints(counts);
    return { ...aged, ...admitted.headers };
  };
}

/** The points of a cached response, all of them hits. A point counts once for each range query. */
export function pointsOf({ grid, parts, earlier }: Plan): PointCounts {
  const own = grid.count * parts.reduce((sum, { ranges }) => sum + ranges.length, 0);
  return { hit: own + (earlier === undefined ? 0 : pointsOf(earlier).hit), miss: 0 };
}

/** True while the query has the same window and every metric is before its sunset. */
export function isStillCurrent({ metrics, window, windowAt }: Query, nowMs: number): boolean {
  return !metrics.some(({ entry }) => isPastSunset(entry.metric, nowMs)) && keepsWindow({ window, windowAt }, nowMs);
}

/** The repeat queries of one configuration. */
interface RepeatQueries {
  /** Returns the same function, which returns undefined after {@link forget}. */
  remember(revalidate: AgeHeaders): AgeHeaders;
  /** Forgets all queries, so that the next ones are handled like new ones. */
  forget(): void;
}

/** Creates empty repeat queries. Returned functions hold no reference to the configuration. */
export function createRepeatQueries(): RepeatQueries {
  let known = new WeakMap<object, AgeHeaders>();
  return {
    remember(revalidate) {
      const key = {};
      known.set(key, revalidate);
      return (nowMs) => known.get(key)?.(nowMs);
    },
    forget() {
      known = new WeakMap();
    },
  };
}
