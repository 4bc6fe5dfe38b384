import { unmatchedNames } from "../authorization/policy.ts";
import { deprecationHeaders } from "../catalog/deprecation.ts";
import { type RegionReport, retryAfterSeconds } from "../reads/region-status.ts";
import type { LeafQuery } from "../planning/leaf-query.ts";
import { freshnessHeader, freshnessOf, noStore, oneOrMixed, responseHeaders } from "../response/response-headers.ts";
import { recoveryHints } from "../response/query-response.ts";
import { shown } from "../request/parameters.ts";
import { pointCount } from "../request/window.ts";
import type { Stamps } from "../request/leaf-times.ts";
import type { LeafSeries, LeavesResult } from "../leaves/leaf.ts";
import type { LeafAnswer, LeafData } from "./leaf-answer.ts";
import type { ReadLeaves } from "./read-leaves.ts";

/** The read leaves of one request. */
interface AnsweredLeaves extends ReadLeaves {
  readonly stamps: Stamps;
  readonly leaves: readonly LeafQuery[];
  readonly durationMs: number;
}

/** Puts the points of every leaf at the stamps of the request, and unites states and headers. */
export function leavesResult(answered: AnsweredLeaves): LeavesResult {
  const { stamps, leaves, answers } = answered;
  const data = answers.map((answer) => answer.data);
  return {
    stamps,
    leaves: leaves.map((leaf, index) => ({ series: placed(leaf, data[index]?.series ?? []) })),
    isPartial: data.some(({ isPartial }) => isPartial),
    regions: regionsOf(data),
    unmatched: unmatchedOf(leaves),
    hints: [...new Set(data.flatMap(({ hints = [] }) => hints))],
    headers: headersOf(answered, data),
  };
}

/** One sentence for each name without a store. A list may name it for the sake of another metric. */
function unmatchedOf(leaves: readonly LeafQuery[]): readonly string[] {
  const sentences = leaves.flatMap(({ query: { metrics, filters } }) =>
    unmatchedNames(metrics, filters).map(
      ({ label, value }) =>
        `no store of ${metrics.map(({ entry }) => entry.metric.id).join(" or ")} has the ${label} ${shown(value)}`,
    ),
  );
  return [...new Set(sentences)];
}

/** Puts each value at its stamps. Where the stamps are the points themselves, it copies nothing. */
function placed({ places }: LeafQuery, series: readonly LeafSeries[]): readonly LeafSeries[] {
  if (places.every((place, stamp) => place === stamp)) return series;
  return series
    .map(({ labels, values }) => ({
      labels,
      values: Float64Array.from(places, (place) => values[place] ?? Number.NaN),
    }))
    .filter(({ values }) => values.some((value) => !Number.isNaN(value)));
}

/** Each region over all leaves: its state in every leaf, or partial if leaves differ, and the reasons of all. */
function regionsOf(data: readonly LeafData[]): readonly RegionReport[] {
  const byRegion = Map.groupBy(
    data.flatMap(({ regions }) => regions),
    ({ region }) => region,
  );
  return [...byRegion]
    .map(([region, own]): RegionReport => {
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
  { leaves, answers, reads, durationMs }: AnsweredLeaves,
  data: readonly LeafData[],
): LeavesResult["headers"] {
  const sum = (of: keyof LeafData["shards"]): number => data.reduce((total, { shards }) => total + shards[of], 0);
  const metrics = new Set(leaves.flatMap(({ query }) => query.metrics.map(({ entry }) => entry.metric)));
  const isCached = answers.every(({ found }) => found !== undefined);
  return {
    ...responseHeaders({
      freshness: [],
      downsample: oneOrMixed(leaves.map(({ query }) => query.window.downsample ?? "none")),
      partial: data.some(({ isPartial }) => isPartial),
      plan:
        `class=${leaves[0]?.query.quota.queryClass ?? ""}, leaves=${leaves.length}, ` +
        `reads=${reads.wanted}, sent=${reads.sent}`,
      cache: "",
      shards: { asked: sum("asked"), answered: sum("answered") },
    }),
    ...unitedHeaders(answers.map(({ headers }) => headers)),
    ...hintsOf(leaves, data),
    ...deprecationHeaders([...metrics]),
    "Server-Timing": isCached ? "cache;desc=answer" : `total;dur=${durationMs.toFixed(1)}`,
  };
}

/** The hints of a partial response, for the leaf with the most points. */
function hintsOf(leaves: readonly LeafQuery[], data: readonly LeafData[]): Readonly<Record<string, string>> {
  const partial = leaves.flatMap(({ query }, index) => (data[index]?.isPartial === true ? [query] : []));
  if (partial.length === 0) return {};
  const widest = partial.reduce((one, other) => (pointCount(other.window) > pointCount(one.window) ? other : one));
  const missing = data.filter(({ isPartial }) => isPartial);
  const hints = {
    regions: regionsOf(data),
    mayRunCheaper: missing.some((own) => own.mayRunCheaper),
    retryAfterSeconds: Math.max(...missing.map((own) => own.retryAfterSeconds ?? retryAfterSeconds)),
  };
  return recoveryHints(hints, widest);
}

/** The headers of all leaves that depend on the time: the shortest lifetime, the greatest age. */
export function unitedHeaders(leaves: readonly LeafAnswer["headers"][]): Readonly<Record<string, string>> {
  const lifetimes = leaves.map((headers) => lifetimeSeconds(headers["Cache-Control"]));
  return {
    ...(lifetimes.includes(undefined)
      ? noStore
      : { "Cache-Control": `private, max-age=${Math.min(...lifetimes.map((seconds = 0) => seconds))}` }),
    ...freshnessHeader(leaves.map(freshnessOf)),
    "X-Query-Cache": oneOrMixed(leaves.map((headers) => headers["X-Query-Cache"] ?? "off")),
  };
}

/** The lifetime in `Cache-Control`, in seconds; undefined where no cache may store the response. */
function lifetimeSeconds(text = ""): number | undefined {
  const seconds = /max-age=(\d+)/u.exec(text)?.[1];
  return seconds === undefined ? undefined : Number.parseInt(seconds, 10);
}
