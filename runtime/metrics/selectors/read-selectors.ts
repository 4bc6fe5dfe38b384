import type { RegionState } from "../../../api/queries.ts";
import { ApiError } from "../../errors/api-error.ts";
import { queryBytesMax, type ReadDeadline } from "../../stores/limits/fan-out.ts";
import { type ReadMemo, shareReads } from "../../stores/read-middleware.ts";
import type { Caller } from "../authorization/access.ts";
import { findCounted, type QuerySources } from "../handle-query.ts";
import type { MetricsResponse, RequestContext } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import type { Result } from "../reads/run-plan.ts";
import { noReads, type QueryReads, readPlan, storesOf } from "../reads/store-middleware.ts";
import type { SelectorSeries } from "../request/selector.ts";
import { type FoundResponse, keyed, newResponseHeaders, storeResponse } from "../response/cached-response.ts";
import { cacheHeader, freshnessHeader } from "../response/response-headers.ts";

/** Most points of all selectors of one request, since they are in memory together. */
const selectorsPointsMax = 1_000_000;
/** Most bytes that the stores may send for all selectors of one request. */
const selectorsStoreBytesMax = 2 * queryBytesMax;

/** The selectors of one admitted request. */
interface SelectorsReading {
  readonly plans: readonly Plan[];
  /** The number of stamps. */
  readonly stamps: number;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
  readonly sources: QuerySources;
  /** Receives the reads of each selector, by the index of its plan, also of one that is then rejected. */
  readonly noteReads: (index: number, reads: QueryReads) => void;
}

/** The answers to all selectors. */
export interface ReadSelectors {
  /** In the order of the plans. */
  readonly responses: readonly SelectorResponse[];
  /** The store reads of all selectors, and those that were sent. */
  readonly reads: ReturnType<ReadMemo["counts"]>;
}

/** What the selectors of one request share. */
interface Shared extends SelectorsReading {
  readonly memo: ReadMemo;
  readonly deadline: ReadDeadline;
  /** Points that remain for the next leaves. */
  readonly points: { left: number };
}

/**
 * Responds to all selectors, from the cache of responses or by reads at the same time. Equal reads are sent once, and
 * one deadline bounds them. The first rejected selector ends the others.
 *
 * @throws ApiError as a query does, and `result_too_large` for too many points; the signal's reason
 */
export async function readSelectors(reading: SelectorsReading): Promise<ReadSelectors> {
  const { plans, context, sources, noteReads } = reading;
  const cached = plans.map((plan, index) => {
    const found = findCounted(keyed(selectorRoute, plan), context.nowMs, sources);
    if (found === undefined) return undefined;
    const response = foundResponse(found);
    noteReads(index, response.reads);
    return response;
  });
  const points = { left: selectorsPointsMax };
  for (const [index, response] of cached.entries())
    if (response !== undefined) takePoints(plans[index] as Plan, response, reading.stamps, points);
  const found = cached.filter((response) => response !== undefined);
  if (found.length === plans.length) return { responses: found, reads: { wanted: 0, sent: 0 } };
  return readOthers(cached, { ...reading, points });
}

async function readOthers(
  cached: readonly (SelectorResponse | undefined)[],
  reading: SelectorsReading & Pick<Shared, "points">,
): Promise<ReadSelectors> {
  const { sources, context, plans } = reading;
  const failure = new AbortController();
  const signal = AbortSignal.any([reading.signal, failure.signal]);
  const sharing = { signal, deadlineMs: sources.deadlineMs, bytesMax: selectorsStoreBytesMax, context };
  return shareReads(sharing, async (memo, deadline) => {
    const shared: Shared = { ...reading, signal, memo, deadline };
    try {
      const responses = await Promise.all(
        plans.map(async (plan, index) => cached[index] ?? readNew(plan, index, shared)),
      );
      return { responses, reads: memo.counts() };
    } catch (error) {
      failure.abort(error);
      throw error;
    }
  });
}

async function readNew(plan: Plan, index: number, shared: Shared): Promise<SelectorResponse> {
  const { context, deadline, memo } = shared;
  const { nowMs } = context;
  const sources = { ...shared.sources, share: memo.share, deadlineMs: deadline.leftMs() };
  let reads = noReads;
  const noteReads = (own: QueryReads): void => {
    reads = own;
    shared.noteReads(index, own);
  };
  const reading = { ...shared, sources, explain: false, noteReads };
  const stores = storesOf(plan, reading);
  const result = await readPlan(plan, stores, reading);
  const counts = stores.counts();
  const response = selectorResponse(result, cacheHeader("store", counts, plan));
  const age = { nowMs, oldest: counts.oldest, isStale: counts.stale > 0 };
  storeResponse(sources.responses, keyed(selectorRoute, plan), { ...age, response, series: result.series });
  const headers = { ...response.headers, ...newResponseHeaders(plan, { ...age, response }) };
  const selected = { data: response.body, headers, reads, found: undefined };
  takePoints(plan, selected, shared.stamps, shared.points);
  return selected;
}

/** Takes the points of one selector. @throws ApiError when too few remain */
function takePoints({ grid }: Plan, { data }: SelectorResponse, stamps: number, points: Shared["points"]): void {
  points.left -= data.series.length * Math.max(grid.count, stamps);
  if (points.left >= 0) return;
  const detail =
    `the selectors of the expression have more than ${selectorsPointsMax} points in total; ` +
    "use a larger step, a shorter range or fewer groups";
  throw new ApiError("result_too_large", detail);
}

/** The name of selectors in the cache of responses. */
const selectorRoute = "leaf";

/** The data of one selector over the window of its query. It is the body of its cached response. */
export interface SelectorData {
  readonly series: readonly SelectorSeries[];
  /** Sentences about a metric without series, and about values that are NaN. @default none */
  readonly hints?: readonly string[];
  readonly isPartial: boolean;
  readonly regions: readonly RegionState[];
  readonly mayRunCheaper: boolean;
  readonly retryAfterSeconds?: number;
  readonly shards: Result["shards"];
}

/** The response to one selector. */
export interface SelectorResponse {
  readonly data: SelectorData;
  /** The headers of its data: age, lifetime and cache. */
  readonly headers: Readonly<Record<string, string>>;
  readonly reads: QueryReads;
  /** Undefined when the data was read for this request. */
  readonly found: FoundResponse | undefined;
}

/** The response of one selector, as the cache of responses holds it. */
function selectorResponse(result: Result, cache: string): MetricsResponse & { readonly body: SelectorData } {
  return {
    status: result.partial ? 206 : 200,
    headers: { ...freshnessHeader([result.freshnessSeconds]), "X-Query-Cache": cache },
    body: {
      series: result.series.map(({ labels, values }) => ({ labels, values })),
      ...(result.hints === undefined || result.hints.length === 0 ? {} : { hints: result.hints }),
      isPartial: result.partial,
      regions: result.regions,
      mayRunCheaper: result.mayRunCheaper,
      ...(result.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: result.retryAfterSeconds }),
      shards: result.shards,
    },
  };
}

/** The response of a cached response. */
function foundResponse(found: FoundResponse): SelectorResponse {
  return {
    // Only leaves store responses under their route.
    data: found.response.body as SelectorData,
    headers: found.response.headers,
    reads: noReads,
    found,
  };
}
