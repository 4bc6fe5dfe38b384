import { BoundedMap } from "../../../limits/bounded-map.ts";
import { untilAborted } from "../../../limits/clock.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { Caller } from "../authorization/access.ts";
import { ageMsMax, type Lifetimes, lifetimesOf, type OldestReads } from "../cache/extents.ts";
import type { PointCounts } from "../cache/read-cache.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
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
  { plan, key }: KeyedPlan,
  nowMs: number,
): FoundResponse | undefined {
  const { query } = plan;
  if (query.snapshot !== undefined) return undefined;
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
  { plan, key }: KeyedPlan,
  { response, series, nowMs, oldest, isStale }: NewResponse & { readonly series: readonly ResultSeries[] },
): void {
  const { query } = plan;
  if (isStale || response.status !== 200 || query.snapshot !== undefined || query.quota.limits.memorySeconds === 0)
    return;
  const bytes = responseBytes + bytesOfSeries(series);
  responses.set(key, { response, madeAtMs: nowMs, isSettled: isSettledPlan(plan), oldest, bytes });
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

/** A plan with the key of its response. */
export interface KeyedPlan {
  readonly plan: Plan;
  readonly key: string;
}

/** Makes the key, a digest, once for all uses. Exemplars up to now are as old as the response, like its tail. */
export function keyed(route: string, plan: Plan): KeyedPlan {
  const { page, limit, exemplarsToMs = "" } = plan.query;
  const exemplars = exemplarsToMs === plan.nowMs ? "now" : exemplarsToMs;
  return { plan, key: `${route} ${page} ${limit} ${exemplars} ${identityOf(plan.query)}` };
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
  /** The responses that are being made, by key, class and other conditions of their callers. They never fail. */
  readonly making: Map<string, Promise<MadeResponse>>;
}

/** What a query was read for: its response, or the error of all stores. Undefined when the read itself was ended. */
export type MadeResponse = { readonly response: MetricsResponse } | { readonly error: ApiError } | undefined;

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
  const responses = new BoundedMap<string, CachedResponse>(bytesMax, ({ bytes }) => bytes, { unusedMs: ageMsMax });
  return {
    find(key, lifetimes, nowMs) {
      const found = responses.get(key);
      if (found === undefined || endOf(found, lifetimes) <= nowMs) return undefined;
      return responses.use(key);
    },
    set: (key, cached) => responses.set(key, cached),
    making: new Map(),
  };
}

/** The points of a cached response, all of them hits. A point counts once for each range query. */
export function pointsOf({ grid, parts, earlier }: Plan): PointCounts {
  const own = grid.count * parts.reduce((sum, { ranges }) => sum + ranges.length, 0);
  return { hit: own + (earlier === undefined ? 0 : pointsOf(earlier).hit), miss: 0 };
}

/** A query whose response others may share. */
interface SharedQuery {
  /** Everything that the response depends on, also one that is not stored; undefined for one that is not shared. */
  readonly key: string | undefined;
  /** Of the caller. */
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  /** The stored response. */
  readonly find: () => MetricsResponse | undefined;
  /** The outcome of an equal query that was not stored. @throws its error */
  readonly take: (made: NonNullable<MadeResponse>) => MetricsResponse;
  readonly read: (deadlineMs: number) => Promise<MetricsResponse>;
}

/**
 * The stored response, or that of an equal query which is being read. Of equal queries one reads, and its body is
 * written once. When its caller leaves, the next one reads within what is left of its deadline. So does each of them
 * after a partial response or an error, if at least half is left.
 */
export async function shareResponse({ making }: ResponseCache, query: SharedQuery): Promise<MetricsResponse> {
  const { key, signal, deadlineMs, find, take, read } = query;
  const startedMs = performance.now();
  let leftMs = deadlineMs;
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    const other = making.get(key ?? "");
    if (other === undefined) break;
    const made = await untilAborted(other, signal);
    leftMs = Math.max(0, deadlineMs - Math.ceil(performance.now() - startedMs));
    if (made === undefined) continue;
    if (isWhole(made) || leftMs * 2 <= deadlineMs) return find() ?? take(made);
    break;
  }
  const response = read(leftMs);
  if (key !== undefined) keepMaking(making, key, response);
  return response;
}

const isWhole = (made: NonNullable<MadeResponse>): boolean => "response" in made && made.response.status === 200;

function keepMaking(making: ResponseCache["making"], key: string, reading: Promise<MetricsResponse>): void {
  if (making.has(key)) return;
  const outcome = reading.then(
    (response) => ({ response }),
    (error: unknown) => (error instanceof ApiError ? { error } : undefined),
  );
  making.set(
    key,
    outcome.finally(() => making.delete(key)),
  );
}
