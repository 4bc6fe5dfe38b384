import type { QueryClass } from "../../../crds/config.ts";
import { maxAgeOf, readCacheWords, type Answer, type AnswerBody, type CacheWords } from "../answers.ts";
import { cacheOf, deadlineMs, regions, schemaVersionOf, settleSeconds, type ClassCache } from "../catalog.ts";
import { exemplarFaults } from "./judge-exemplars.ts";
import { freshnessFaults } from "./judge-freshness.ts";
import type { ReadTimes } from "./judge-values.ts";
import { classOf, regionsOf } from "../panels.ts";
import type { StoreRecord } from "../store-record.ts";
import type { Timeline, Versions } from "../timeline.ts";

/** What the probe knows of itself. */
export interface Knowledge {
  readonly records: readonly StoreRecord[];
  readonly timeline: Timeline;
  readonly catalogs: Versions;
  readonly quotas: Versions;
}

/** How long a store may be left alone after it is back: the rests of a breaker that met an outage of a few seconds. */
export const recoverMs = 14_000;
/** Memory serves nothing older, in seconds. */
const memorySecondsMax = 60;
/** What a store may suffer. */
export const storeTroubles = ["kill", "hang", "block", "cut"] as const;

/** The lifetimes that may have been in force during an answer, each at its longest. */
export function cacheDuring(
  { sentMs, receivedMs, panel }: Pick<Answer, "sentMs" | "receivedMs" | "panel">,
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

/** When each point of an answer was read, by its class's lifetimes and by what its headers promise. */
export function readTimesOf(answer: Answer, body: AnswerBody, cache: ClassCache): ReadTimes {
  const words = readCacheWords(answer.headers["x-query-cache"] ?? "");
  const promisedMs = (maxAgeOf(answer.headers) ?? 0) * 1_000;
  const { fromMs, stepSeconds } = body.grid;
  return (pointMs) => {
    const word = words.extents?.[Math.round((pointMs - fromMs) / (stepSeconds * 1_000)) - 1];
    // A point is told by the farthest place that any of its reads went to; the others may be nearer.
    const mayBeStale = !nearer.includes(word ?? "") && (words.counts["stale"] ?? 0) > 0;
    const lifetimeMs = (mayBeStale ? staleSeconds(cache) : cache.hotTailSeconds) * 1_000;
    const keptMs = answer.sentMs + promisedMs - lifetimeMs;
    // A caller joins a read that another one began, within the bound of both.
    const joinedMs = word === "store" ? answer.sentMs - deadlineMs : keptMs;
    return [Math.min(joinedMs, words.counts["hit"] === 0 ? joinedMs : keptMs, answer.sentMs), answer.receivedMs];
  };
}

/** Everything that an answer says of itself and that is not so. */
export function verdictFaults(answer: Answer, knowledge: Knowledge): readonly string[] {
  const { status, body } = answer;
  if (body === undefined) return refusalFaults(answer, knowledge);
  const cache = cacheDuring(answer, knowledge);
  const words = readCacheWords(answer.headers["x-query-cache"] ?? "");
  const own = [
    ...partialFaults(answer, body, knowledge),
    ...windowFaults(answer, body),
    ...versionFaults(answer, body, knowledge),
    ...exemplarFaults(answer, body, knowledge.records),
  ];
  // A 304 says what changed and leaves the rest to the body that the caller has.
  if (status === 304) return [...own, ...keepingFaults(answer, { body, cache, words })];
  return [
    ...own,
    ...cacheFaults(answer, body, words),
    ...keepingFaults(answer, { body, cache, words }),
    ...storeFaults(answer, words, knowledge),
    ...freshnessFaults(answer, { body, records: knowledge.records, staleMs: staleSeconds(cache) * 1_000 }),
    ...(answer.headers["x-query-plan"]?.startsWith(`class=${classOf(answer.panel)},`) === true
      ? []
      : [`the plan is ${answer.headers["x-query-plan"]}`]),
  ];
}

/** No answer at all is right only where every store of the panel was in trouble. */
function refusalFaults(answer: Answer, { timeline }: Knowledge): readonly string[] {
  const { status, headers, panel } = answer;
  const all = regionsOf(panel);
  const isTroubled = all.every((region) => !isQuiet(timeline, region, answer));
  if (status !== 502 && status !== 504) return [`status ${status} for a query that anybody may ask`];
  const hints = headers["retry-after"] === undefined ? [`${status} without Retry-After`] : [];
  return isTroubled ? hints : [...hints, `status ${status} while a store of ${all.join(", ")} was well`];
}

/** Whether nothing was done to a store of late. */
function isQuiet(timeline: Timeline, region: string, { sentMs, receivedMs }: Answer): boolean {
  return storeTroubles.every((trouble) => timeline.isQuiet(`${trouble} ${region}`, sentMs - recoverMs, receivedMs));
}

function partialFaults(answer: Answer, body: AnswerBody, { timeline }: Knowledge): readonly string[] {
  const { status, headers, panel } = answer;
  const missing = body.regions.filter(({ state }) => state !== "ok");
  const told = body.regions.map(({ region }) => region).join();
  const isPartial = missing.length > 0;
  const header = headers["x-partial"];
  return [
    ...(told === [...regionsOf(panel)].sort().join() ? [] : [`the regions are ${told}`]),
    ...(body.partial === isPartial && (status === 206) === isPartial
      ? []
      : [`status ${status}, partial ${body.partial}, and ${missing.length} regions are missing`]),
    ...(status === 304 || header === String(isPartial)
      ? []
      : [`X-Partial: ${header}, and ${missing.length} regions are missing`]),
    ...missing
      .filter(({ region }) => isQuiet(timeline, region, answer))
      .map(({ region, state }) => `the store of ${region} was well and is said to be ${state}`),
  ];
}

function windowFaults({ panel, sentMs, receivedMs, route }: Answer, { grid }: AnswerBody): readonly string[] {
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

/** The versions of the catalog that an answer may be of. */
export function catalogVersionsOf({ sentMs, receivedMs }: Answer, { catalogs }: Knowledge): readonly number[] {
  return catalogs.during(sentMs, receivedMs);
}

function versionFaults(answer: Answer, { schemaVersion }: AnswerBody, knowledge: Knowledge): readonly string[] {
  const possible = catalogVersionsOf(answer, knowledge).map(schemaVersionOf);
  return possible.includes(schemaVersion) ? [] : [`schema_version is ${schemaVersion}, not ${possible.join(" or ")}`];
}

/** `X-Query-Cache` adds up to what was planned, and its extents to its totals. */
function cacheFaults({ headers }: Answer, { grid, partial }: AnswerBody, words: CacheWords): readonly string[] {
  const { kind, extents = [], counts } = words;
  if (kind === "answer") return [];
  const points = pointCountOf(grid);
  const planned = plannedPoints(headers["x-query-plan"] ?? "", points);
  const told = Number(counts["hit"]) + Number(counts["miss"]);
  const isWhole = told === planned && extents.length === points && areTold(extents, counts);
  // A store that failed may have answered one of its range queries before it did.
  const isRight = isWhole || (partial && told <= planned && extents.length <= points);
  return isRight ? [] : [`X-Query-Cache: ${headers["x-query-cache"]} of ${planned} planned points`];
}

/** Points of one series of a grid. */
export function pointCountOf({ fromMs, toMs, stepSeconds }: AnswerBody["grid"]): number {
  return Math.round((toMs - fromMs) / 1_000 / stepSeconds);
}

/** Whether each word of the extents stands for points among the totals, and misses for a word. */
function areTold(extents: readonly string[], counts: CacheWords["counts"]): boolean {
  const some = (word: string): number => counts[word] ?? 0;
  const hitsAreThere = ["shared", "stale", "finer"].every((word) => !extents.includes(word) || some(word) > 0);
  const missesAreTold = extents.includes("mixed") || extents.includes("store") === some("miss") > 0;
  return hitsAreThere && missesAreTold && some("shared") + some("stale") + some("finer") <= some("hit");
}

/** Points of all range queries that a plan names. */
export function plannedPoints(plan: string, points: number): number {
  return [...plan.matchAll(/stores=(\d+);ranges=(\d+)/gu)].reduce(
    (sum, [, stores, ranges]) => sum + Number(stores) * Number(ranges) * points,
    0,
  );
}

interface Kept {
  readonly body: AnswerBody;
  readonly cache: ClassCache;
  readonly words: CacheWords;
}

/** `Cache-Control` promises no more than the lifetimes, and nothing of what is stale or not whole. */
function keepingFaults(answer: Answer, { body, cache, words }: Kept): readonly string[] {
  const told = answer.headers["cache-control"] ?? "";
  if (told === "no-store") return [];
  if (answer.status === 206 || (words.counts["stale"] ?? 0) > 0)
    return [`Cache-Control: ${told} of an answer that is stale or partial`];
  const maxAge = maxAgeOf(answer.headers);
  if (maxAge === undefined || !told.startsWith("private, ")) return [`Cache-Control: ${told}`];
  const most = isMoving(answer, body, maxAge)
    ? cache.hotTailSeconds
    : Math.max(cache.memorySeconds, cache.distributedSeconds);
  return maxAge <= most ? [] : [`Cache-Control: ${told}, where ${most} s is the lifetime`];
}

/** Whether points may change, or another one may come, while a caller keeps an answer. */
function isMoving({ panel, receivedMs, sentMs }: Answer, { grid }: AnswerBody, maxAge: number): boolean {
  if (grid.toMs >= receivedMs - settleSeconds * 1_000) return true;
  return panel.window.kind === "live" && sentMs + maxAge * 1_000 >= grid.toMs + grid.stepSeconds * 1_000;
}

/** A store that was away the whole time was not read. */
function storeFaults(answer: Answer, { extents = [] }: CacheWords, { timeline }: Knowledge): readonly string[] {
  const away = regions.filter((region) =>
    (["kill", "hang", "block"] as const).some((trouble) =>
      timeline.covers(`${trouble} ${region}`, answer.sentMs - deadlineMs, answer.receivedMs),
    ),
  );
  const isOnlyAway = regionsOf(answer.panel).every((region) => away.includes(region));
  return isOnlyAway && extents.includes("store")
    ? [`points are said to be from ${away.join(", ")}, which was away`]
    : [];
}
