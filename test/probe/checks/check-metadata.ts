import type { QueryClass } from "../../../crds/config.ts";
import { maxAgeOf, readCacheWords, type ProbeResponse, type ResponseBody, type CacheWords } from "../responses.ts";
import { cacheOf, deadlineMs, regions, schemaVersionOf, settleSeconds, type ClassCache } from "../catalog.ts";
import { exemplarFaults } from "./check-exemplars.ts";
import { freshnessFaults } from "./check-freshness.ts";
import type { ReadTimes } from "./compare-values.ts";
import { classOf, regionsOf } from "../panels.ts";
import type { StoreRecord } from "../store-record.ts";
import type { Timeline, Versions } from "../timeline.ts";

/** The disturbances, versions and samples that the probe made. */
export interface Knowledge {
  readonly records: readonly StoreRecord[];
  readonly timeline: Timeline;
  readonly catalogs: Versions;
  readonly quotas: Versions;
}

/** How long a store may be left alone after it is back: the rests of a breaker that met an outage of a few seconds. */
export const recoverMs = 14_000;
/** Age of the oldest points that memory serves, in seconds. */
const memorySecondsMax = 60;
/** Disturbances of a store. */
export const storeTroubles = ["kill", "hang", "block", "cut"] as const;

/** The lifetimes that may apply during a response, each at its longest. */
export function cacheDuring(
  { sentMs, receivedMs, panel }: Pick<ProbeResponse, "sentMs" | "receivedMs" | "panel">,
  { quotas }: Pick<Knowledge, "quotas">,
): ClassCache {
  const queryClass: QueryClass = classOf(panel);
  const all = quotas.during(sentMs, receivedMs).map((version) => cacheOf(version, queryClass));
  const longest = (name: keyof ClassCache): number => Math.max(...all.map((cache) => cache[name]));
  return {
    memorySeconds: longest("memorySeconds"),
    distributedSeconds: longest("distributedSeconds"),
    hotTailSeconds: longest("hotTailSeconds"),
    staleWhileRevalidateSeconds: longest("staleWhileRevalidateSeconds"),
  };
}

/** How long a point of the tail is served, stale ones included, in seconds. */
function staleSeconds({ hotTailSeconds, staleWhileRevalidateSeconds }: ClassCache): number {
  return Math.max(hotTailSeconds, Math.min(memorySecondsMax, hotTailSeconds + staleWhileRevalidateSeconds));
}

/** Origins of points that are surely within their lifetime. */
const nearer: readonly string[] = ["memory", "finer", "shared"];

/** When each point of a response was read, by the lifetimes of its class and by its headers. */
export function readTimesOf(response: ProbeResponse, body: ResponseBody, cache: ClassCache): ReadTimes {
  const words = readCacheWords(response.headers["x-query-cache"] ?? "");
  const promisedMs = (maxAgeOf(response.headers) ?? 0) * 1_000;
  const { fromMs, stepSeconds } = body.grid;
  return (pointMs) => {
    const word = words.extents?.[Math.round((pointMs - fromMs) / (stepSeconds * 1_000)) - 1];
    // The word of a point names the farthest source of its reads; other reads may be nearer.
    const mayBeStale = !nearer.includes(word ?? "") && (words.counts["stale"] ?? 0) > 0;
    const lifetimeMs = (mayBeStale ? staleSeconds(cache) : cache.hotTailSeconds) * 1_000;
    const keptMs = response.sentMs + promisedMs - lifetimeMs;
    // A caller joins a read that another one began, within the bound of both.
    const joinedMs = word === "store" ? response.sentMs - deadlineMs : keptMs;
    return [Math.min(joinedMs, words.counts["hit"] === 0 ? joinedMs : keptMs, response.sentMs), response.receivedMs];
  };
}

/** Wrong statements of a response about itself. */
export function metadataFaults(response: ProbeResponse, knowledge: Knowledge): readonly string[] {
  const { status, body } = response;
  if (body === undefined) return refusalFaults(response, knowledge);
  const cache = cacheDuring(response, knowledge);
  const words = readCacheWords(response.headers["x-query-cache"] ?? "");
  const own = [
    ...partialFaults(response, body, knowledge),
    ...windowFaults(response, body),
    ...versionFaults(response, body, knowledge),
    ...exemplarFaults(response, body, knowledge.records),
  ];
  // A 304 has only the headers that changed; the caller has the body.
  if (status === 304) return [...own, ...keepingFaults(response, { body, cache, words })];
  return [
    ...own,
    ...cacheFaults(response, body, words),
    ...keepingFaults(response, { body, cache, words }),
    ...storeFaults(response, words, knowledge),
    ...freshnessFaults(response, { body, records: knowledge.records, staleMs: staleSeconds(cache) * 1_000 }),
    ...(response.headers["x-query-plan"]?.startsWith(`class=${classOf(response.panel)},`) === true
      ? []
      : [`the plan is ${response.headers["x-query-plan"]}`]),
  ];
}

/** An error is right only where every store of the panel was in trouble. */
function refusalFaults(response: ProbeResponse, { timeline }: Knowledge): readonly string[] {
  const { status, headers, panel } = response;
  const all = regionsOf(panel);
  const isTroubled = all.every((region) => !isQuiet(timeline, region, response));
  if (status !== 502 && status !== 504) return [`status ${status} for a query that anybody may ask`];
  const hints = headers["retry-after"] === undefined ? [`${status} without Retry-After`] : [];
  return isTroubled ? hints : [...hints, `status ${status} while a store of ${all.join(", ")} was well`];
}

/** Whether the probe did not disturb a store of late. */
function isQuiet(timeline: Timeline, region: string, { sentMs, receivedMs }: ProbeResponse): boolean {
  return storeTroubles.every((trouble) => timeline.isQuiet(`${trouble} ${region}`, sentMs - recoverMs, receivedMs));
}

function partialFaults(response: ProbeResponse, body: ResponseBody, { timeline }: Knowledge): readonly string[] {
  const { status, headers, panel } = response;
  const missing = body.regions.filter(({ state }) => state !== "ok");
  const reported = body.regions.map(({ region }) => region).join();
  const isPartial = missing.length > 0;
  const header = headers["x-partial"];
  return [
    ...(reported === [...regionsOf(panel)].sort().join() ? [] : [`the regions are ${reported}`]),
    ...(body.partial === isPartial && (status === 206) === isPartial
      ? []
      : [`status ${status}, partial ${body.partial}, and ${missing.length} regions are missing`]),
    ...(status === 304 || header === String(isPartial)
      ? []
      : [`X-Partial: ${header}, and ${missing.length} regions are missing`]),
    ...missing
      .filter(({ region }) => isQuiet(timeline, region, response))
      .map(({ region, state }) => `the store of ${region} was well and is said to be ${state}`),
  ];
}

function windowFaults({ panel, sentMs, receivedMs, route }: ProbeResponse, { grid }: ResponseBody): readonly string[] {
  const asked = Math.max(
    panel.step === undefined || route === "instant" ? 10 : secondsOf(panel.step),
    panel.downsample === undefined ? 0 : 60,
  );
  if (grid.stepSeconds !== asked) return [`the step is ${grid.stepSeconds}, not ${asked}`];
  const stepMs = asked * 1_000;
  const [least, most] = [sentMs, receivedMs].map(
    (nowMs) => Math.floor((panel.window.kind === "fixed" ? panel.window.toMs : nowMs) / stepMs) * stepMs,
  );
  return grid.toMs >= (least ?? 0) && grid.toMs <= (most ?? 0)
    ? []
    : [`the window ends at ${grid.toMs}, not between ${least} and ${most}`];
}

function secondsOf(step: string): number {
  return Number.parseInt(step, 10) * (step.endsWith("m") ? 60 : 1);
}

/** The versions of the catalog that a response may have. */
export function catalogVersionsOf({ sentMs, receivedMs }: ProbeResponse, { catalogs }: Knowledge): readonly number[] {
  return catalogs.during(sentMs, receivedMs);
}

function versionFaults(
  response: ProbeResponse,
  { schemaVersion }: ResponseBody,
  knowledge: Knowledge,
): readonly string[] {
  const possible = catalogVersionsOf(response, knowledge).map(schemaVersionOf);
  return possible.includes(schemaVersion) ? [] : [`schema_version is ${schemaVersion}, not ${possible.join(" or ")}`];
}

/** `X-Query-Cache` adds up to what was planned, and its extents to its totals. */
function cacheFaults(
  { headers }: ProbeResponse,
  { grid, partial }: ResponseBody,
  words: CacheWords,
): readonly string[] {
  const { kind, extents = [], counts } = words;
  if (kind === "answer") return [];
  const points = pointCountOf(grid);
  const planned = plannedPoints(headers["x-query-plan"] ?? "", points);
  const reported = Number(counts["hit"]) + Number(counts["miss"]);
  const isWhole = reported === planned && extents.length === points && areCounted(extents, counts);
  // A store that failed may have served one of its range queries before.
  const isRight = isWhole || (partial && reported <= planned && extents.length <= points);
  return isRight ? [] : [`X-Query-Cache: ${headers["x-query-cache"]} of ${planned} planned points`];
}

/** Points of one series of a grid. */
export function pointCountOf({ fromMs, toMs, stepSeconds }: ResponseBody["grid"]): number {
  return Math.round((toMs - fromMs) / 1_000 / stepSeconds);
}

/** Whether each word of the extents stands for points among the totals, and misses for a word. */
function areCounted(extents: readonly string[], counts: CacheWords["counts"]): boolean {
  const some = (word: string): number => counts[word] ?? 0;
  const hitsAreThere = ["shared", "stale", "finer"].every((word) => !extents.includes(word) || some(word) > 0);
  const missesAreCounted = extents.includes("mixed") || extents.includes("store") === some("miss") > 0;
  return hitsAreThere && missesAreCounted && some("shared") + some("stale") + some("finer") <= some("hit");
}

/** Points of all range queries that a plan names. */
export function plannedPoints(plan: string, points: number): number {
  return [...plan.matchAll(/stores=(\d+);ranges=(\d+)/gu)].reduce(
    (sum, [, stores, ranges]) => sum + Number(stores) * Number(ranges) * points,
    0,
  );
}

interface Kept {
  readonly body: ResponseBody;
  readonly cache: ClassCache;
  readonly words: CacheWords;
}

/** `Cache-Control` promises no more than the lifetimes, and nothing of what is stale or not whole. */
function keepingFaults(response: ProbeResponse, { body, cache, words }: Kept): readonly string[] {
  const reported = response.headers["cache-control"] ?? "";
  if (reported === "no-store") return [];
  if (response.status === 206 || (words.counts["stale"] ?? 0) > 0)
    return [`Cache-Control: ${reported} of an answer that is stale or partial`];
  const maxAge = maxAgeOf(response.headers);
  if (maxAge === undefined || !reported.startsWith("private, ")) return [`Cache-Control: ${reported}`];
  const most = isMoving(response, body, maxAge)
    ? cache.hotTailSeconds
    : Math.max(cache.memorySeconds, cache.distributedSeconds);
  return maxAge <= most ? [] : [`Cache-Control: ${reported}, where ${most} s is the lifetime`];
}

/** Whether points may change, or another one may come, while a caller keeps an answer. */
function isMoving({ panel, receivedMs, sentMs }: ProbeResponse, { grid }: ResponseBody, maxAge: number): boolean {
  if (grid.toMs >= receivedMs - settleSeconds * 1_000) return true;
  return panel.window.kind === "live" && sentMs + maxAge * 1_000 >= grid.toMs + grid.stepSeconds * 1_000;
}

/** A store that was away the whole time was not read. */
function storeFaults(
  response: ProbeResponse,
  { extents = [] }: CacheWords,
  { timeline }: Knowledge,
): readonly string[] {
  const away = regions.filter((region) =>
    (["kill", "hang", "block"] as const).some((trouble) =>
      timeline.covers(`${trouble} ${region}`, response.sentMs - deadlineMs, response.receivedMs),
    ),
  );
  const isOnlyAway = regionsOf(response.panel).every((region) => away.includes(region));
  return isOnlyAway && extents.includes("store")
    ? [`points are said to be from ${away.join(", ")}, which was away`]
    : [];
}
