import type { Caller } from "../authorization/caller.ts";
import { lifetimesOf, type OldestReads } from "../cache/extents.ts";
import { leftMs, type ResponseCache, type CachedResponse } from "../cache/response-cache.ts";
import { later } from "../execution/freshness.ts";
import { keepsWindow } from "../planning/keeps-window.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import { identityOf } from "../planning/query-identity.ts";
import { pointCount } from "../request/window.ts";
import { describePlan } from "./query-response.ts";
import { freshnessHeader, freshnessOf, noStore } from "./response-headers.ts";

/** What an answer takes in memory with its representations, roughly. */
const responseBytes = 4_096;
const seriesBytes = 1_024;
const pointBytes = 256;

/** An answer to an equal query of late. */
export interface FoundResponse {
  /** Its body is the very same object each time. */
  readonly answer: MetricsResponse;
  /** Those of its headers that depend on the time. */
  readonly aged: Readonly<Record<string, string>>;
  /** Whether that is still what is found at another time, with these headers; undefined when it is not. */
  readonly again: (nowMs: number) => FoundResponse["aged"] | undefined;
}

/** A query with a cached response. */
export interface CachedQuery {
  readonly plan: Plan;
  readonly caller: Caller;
  readonly found: FoundResponse;
}

/** The answer to an equal query of late, as old as it is now. */
export function findResponse(
  answers: ResponseCache,
  route: string,
  plan: Plan,
  nowMs: number,
): FoundResponse | undefined {
  const { query } = plan;
  if (query.snapshot !== undefined) return undefined;
  const key = keyOf(route, query);
  const lifetimes = lifetimesOf(query);
  const kept = answers.find(key, lifetimes, nowMs);
  if (kept === undefined) return undefined;
  const aged = agedHeaders(kept, query, nowMs);
  const { headers, ...rest } = kept.answer;
  // The class is the caller's own; the cached response can be of another.
  const own = { "X-Query-Plan": describePlan(plan), ...aged, "Server-Timing": "cache;desc=answer" };
  return {
    answer: { ...rest, headers: { ...headers, ...own } },
    aged,
    again: (atMs) => (answers.find(key, lifetimes, atMs) === kept ? agedHeaders(kept, query, atMs) : undefined),
  };
}

function agedHeaders(kept: CachedResponse, query: Query, nowMs: number): FoundResponse["aged"] {
  const ageMs = nowMs - kept.madeAtMs;
  return {
    ...cacheControl(keptForMs(kept, query, nowMs)),
    ...freshnessHeader([later(freshnessOf(kept.answer.headers), Math.ceil(ageMs / 1_000))]),
    "X-Query-Cache": `answer;age=${Math.floor(ageMs / 1_000)}`,
  };
}

/** A response whose points were read now or earlier. */
interface NewResponse {
  readonly answer: MetricsResponse;
  readonly nowMs: number;
  readonly oldest: OldestReads;
  /** Some points had expired and are read again in the background: no cache may store the response. */
  readonly isStale: boolean;
}

/**
 * Keeps a whole answer; what another lacks may be there a moment later. Headers of a caller are not among those it has.
 */
export function storeResponse(
  answers: ResponseCache,
  route: string,
  plan: Plan,
  { answer, nowMs, oldest, isStale }: NewResponse,
): void {
  const { query } = plan;
  if (isStale || answer.status !== 200 || query.snapshot !== undefined || query.quota.limits.memorySeconds === 0)
    return;
  const { data } = answer.body as { readonly data: readonly object[] };
  const bytes = responseBytes + data.length * (seriesBytes + pointCount(query.window) * pointBytes);
  answers.keep(keyOf(route, query), { answer, madeAtMs: nowMs, isSettled: isSettled(plan), oldest, bytes });
}

/**
 * How long a caller may keep a new answer, which nobody between may. An answer that is not whole is not kept at all.
 */
export function newResponseHeaders(
  plan: Plan,
  { answer: { status }, nowMs, oldest, isStale }: NewResponse,
): Readonly<Record<string, string>> {
  const lifetimeMs = keptForMs({ isSettled: isSettled(plan), madeAtMs: nowMs, oldest }, plan.query, nowMs);
  return !isStale && status === 200 && lifetimeMs > 0 ? cacheControl(lifetimeMs) : noStore;
}

/** For how long a caller may keep an answer: no longer than a tail when another point belongs to its window by then. */
function keptForMs(made: Parameters<typeof leftMs>[0], query: Query, nowMs: number): number {
  const lifetimes = lifetimesOf(query);
  const pointsMs = leftMs(made, lifetimes, nowMs);
  return keepsWindow(query, nowMs + pointsMs) ? pointsMs : Math.min(pointsMs, lifetimes.tailMs);
}

function cacheControl(lifetimeMs: number): Readonly<Record<string, string>> {
  return { "Cache-Control": `private, max-age=${Math.max(0, Math.floor(lifetimeMs / 1_000))}` };
}

function keyOf(route: string, query: Query): string {
  return `${route} ${query.page} ${query.limit} ${identityOf(query)}`;
}

/** Whether no store changes any point of the window any more. */
function isSettled({ parts }: Plan): boolean {
  return parts.every(({ newest }) => newest === undefined);
}
