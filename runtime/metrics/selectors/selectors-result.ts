import type { RegionState } from "../../../api/queries.ts";
import type { Caller } from "../authorization/access.ts";
import { unmatchedNames } from "../authorization/policy.ts";
import type { AgeHeaders } from "../metrics-api.ts";
import { countSlices, type SliceCounts } from "../request/count-slices.ts";
import type { Plan } from "../planning/plan.ts";
import type { SelectorQuery } from "../planning/selector-query.ts";
import { recoveryHints, retryAfterSeconds } from "../reads/region-status.ts";
import { shown } from "../request/known-names.ts";
import { stampsAt } from "../request/selector-window.ts";
import type { SelectorSeries, SelectorSlices, SelectorsResult, SelectorTimes, Stamps } from "../request/selector.ts";
import { pointCount } from "../request/window.ts";
import { type FoundResponse, pointsOf } from "../response/cached-response.ts";
import { isStillCurrent, type RepeatSources } from "../response/repeat-queries.ts";
import {
  deprecationHeaders,
  freshnessHeader,
  freshnessOf,
  noStore,
  oneOrMixed,
  responseHeaders,
} from "../response/response-headers.ts";
import type { ReadSelectors, SelectorData, SelectorResponse } from "./read-selectors.ts";

/** The read leaves of one request. */
interface SelectorResponses extends ReadSelectors {
  readonly stamps: Stamps;
  readonly selectors: readonly SelectorQuery[];
  readonly durationMs: number;
}

/** Puts the points of every selector at the stamps of the request, and unites states and headers. */
export function selectorsResult(read: SelectorResponses): SelectorsResult {
  const { stamps, selectors, responses } = read;
  const data = responses.map((response) => response.data);
  return {
    stamps,
    selectors: selectors.map((selector, index) => ({ series: placed(selector, data[index]?.series ?? []) })),
    isPartial: data.some(({ isPartial }) => isPartial),
    regions: unitedRegions(data.flatMap(({ regions }) => regions)),
    unmatched: unmatchedOf(selectors),
    hints: [...new Set(data.flatMap(({ hints = [] }) => hints))],
    headers: headersOf(read, data),
  };
}

/** One sentence for each name without a store. A list may name it for the sake of another metric. */
function unmatchedOf(selectors: readonly SelectorQuery[]): readonly string[] {
  const sentences = selectors.flatMap(({ query: { metrics, filters } }) =>
    unmatchedNames(metrics, filters).map(
      ({ label, value }) =>
        `no store of ${metrics.map(({ entry }) => entry.metric.id).join(" or ")} has the ${label} ${shown(value)}`,
    ),
  );
  return [...new Set(sentences)];
}

/** Puts each value at its stamps. Where the stamps are the points themselves, it copies nothing. */
function placed({ places, slices }: SelectorQuery, series: readonly SelectorSeries[]): readonly SelectorSeries[] {
  if (slices !== undefined) return judged(slices, places, series);
  if (places.every((place, stamp) => place === stamp)) return series;
  return series
    .map(({ labels, values }) => ({
      labels,
      values: Float64Array.from(places, (place) => values[place] ?? Number.NaN),
    }))
    .filter(({ values }) => values.some((value) => !Number.isNaN(value)));
}

/** Judges the slices of the window that ends with each place. */
function judged(
  { condition, windowSeconds, result }: SelectorSlices,
  places: readonly number[],
  series: readonly SelectorSeries[],
): readonly SelectorSeries[] {
  const slices = windowSeconds / condition.sliceSeconds;
  return series
    .map(({ labels, values }) => {
      const counts = countSlices(values, condition);
      const own = places.map((place) => counts(place, slices));
      const valueOf = ({ good, total }: SliceCounts): number => {
        if (total === 0) return Number.NaN;
        return result === "share" ? good / total : total;
      };
      return { labels, values: Float64Array.from(own, valueOf) };
    })
    .filter(({ values }) => values.some((value) => !Number.isNaN(value)));
}

/** Each region over all selectors: its state in all of them, or partial if they differ, and the reasons of all. */
export function unitedRegions(reports: readonly RegionState[]): readonly RegionState[] {
  return [...Map.groupBy(reports, ({ region }) => region)]
    .map(([region, own]): RegionState => {
      const [state = "partial", ...others] = new Set(own.map((report) => report.state));
      const reasons = new Map(own.flatMap((report) => report.reasons ?? []).map((reason) => [reason.detail, reason]));
      return {
        region,
        state: others.length === 0 ? state : "partial",
        ...(reasons.size === 0 ? {} : { reasons: [...reasons.values()] }),
      };
    })
    .sort((a, b) => (a.region < b.region ? -1 : 1));
}

function headersOf(
  { selectors, responses, reads, durationMs }: SelectorResponses,
  data: readonly SelectorData[],
): SelectorsResult["headers"] {
  const sum = (of: keyof SelectorData["shards"]): number => data.reduce((total, { shards }) => total + shards[of], 0);
  const metrics = new Set(selectors.flatMap(({ query }) => query.metrics.map(({ entry }) => entry.metric)));
  const isCached = responses.every(({ found }) => found !== undefined);
  return {
    ...responseHeaders({
      freshness: [],
      downsample: oneOrMixed(selectors.map(({ query }) => query.window.downsample ?? "none")),
      partial: data.some(({ isPartial }) => isPartial),
      plan:
        `class=${selectors[0]?.query.quota.queryClass ?? ""}, leaves=${selectors.length}, ` +
        `reads=${reads.wanted}, sent=${reads.sent}`,
      cache: "",
      shards: { requested: sum("requested"), responded: sum("responded") },
    }),
    ...unitedHeaders(responses.map(({ headers }) => headers)),
    ...hintsOf(selectors, data),
    ...deprecationHeaders([...metrics]),
    "Server-Timing": isCached ? "cache;desc=answer" : `total;dur=${durationMs.toFixed(1)}`,
  };
}

/** The hints of a partial response, for the selector with the most points. */
function hintsOf(selectors: readonly SelectorQuery[], data: readonly SelectorData[]): Readonly<Record<string, string>> {
  const partial = selectors.flatMap(({ query }, index) => (data[index]?.isPartial === true ? [query] : []));
  if (partial.length === 0) return {};
  const widest = partial.reduce((one, other) => (pointCount(other.window) > pointCount(one.window) ? other : one));
  const missing = data.filter(({ isPartial }) => isPartial);
  const hints = {
    regions: unitedRegions(data.flatMap(({ regions }) => regions)),
    mayRunCheaper: missing.some((own) => own.mayRunCheaper),
    retryAfterSeconds: Math.max(...missing.map((own) => own.retryAfterSeconds ?? retryAfterSeconds)),
  };
  return recoveryHints(hints, widest);
}

/** The headers of all selectors that depend on the time: the shortest lifetime, the greatest age. */
function unitedHeaders(selectors: readonly SelectorResponse["headers"][]): Readonly<Record<string, string>> {
  const lifetimes = selectors.map((headers) => lifetimeSeconds(headers["Cache-Control"]));
  return {
    ...(lifetimes.includes(undefined)
      ? noStore
      : { "Cache-Control": `private, max-age=${Math.min(...lifetimes.map((seconds = 0) => seconds))}` }),
    ...freshnessHeader(selectors.map(freshnessOf)),
    "X-Query-Cache": oneOrMixed(selectors.map((headers) => headers["X-Query-Cache"] ?? "off")),
  };
}

/** The lifetime in `Cache-Control`, in seconds; undefined if no cache may store the response. */
function lifetimeSeconds(text = ""): number | undefined {
  const seconds = /max-age=(\d+)/u.exec(text)?.[1];
  return seconds === undefined ? undefined : Number.parseInt(seconds, 10);
}

/** A request whose leaves all have cached responses. */
export interface CachedSelectors {
  readonly plans: readonly Plan[];
  readonly caller: Caller;
  readonly times: SelectorTimes;
  readonly stamps: Stamps;
  /** In the order of the plans. */
  readonly found: readonly FoundResponse[];
}

/**
 * Handles an equal request under the same configuration, while every selector has the same cached data. Cost and quota
 * are computed for each repeat.
 */
export function repeatSelectors(cached: CachedSelectors, { admitRepeats, countPoints }: RepeatSources): AgeHeaders {
  const { plans, caller, times, stamps, found } = cached;
  const admit = admitRepeats(plans, caller);
  const hit = plans.reduce((sum, plan) => sum + pointsOf(plan).hit, 0);
  return (nowMs) => {
    const { startMs, count } = stampsAt(times, nowMs);
    if (startMs !== stamps.startMs || count !== stamps.count) return undefined;
    if (!plans.every(({ query }) => isStillCurrent(query, nowMs))) return undefined;
    const aged = found.map((one) => one.revalidate(nowMs)).filter((headers) => headers !== undefined);
    const admitted = aged.length === found.length ? admit() : undefined;
    if (admitted === undefined) return undefined;
    countPoints({ hit, miss: 0 });
    const [only, ...others] = aged;
    return { ...(others.length === 0 ? only : unitedHeaders(aged)), ...admitted.headers };
  };
}
