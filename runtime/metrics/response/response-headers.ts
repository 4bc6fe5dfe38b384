import { hash } from "node:crypto";
import type { QueryMeta } from "../../../api/queries.ts";
import type { MetricConfig } from "../../../crds/config.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { CacheCounts } from "../cache/cached-stores.ts";
import { type PointSource, pointSources, type SourcedRange } from "../cache/extents.ts";
import type { Plan } from "../planning/plan.ts";
import { formatTime } from "../request/time.ts";
import type { DataSource } from "./snapshots.ts";

const freshnessName = "X-Data-Freshness";

/** The report of the headers of a response with data. Source: seed "Operational Metrics API" §6. */
interface ResponseReport {
  /** Ages of the parts in seconds; undefined for a part without any sample. */
  readonly freshness: readonly (number | undefined)[];
  readonly downsample: string;
  readonly partial: boolean;
  readonly plan: string;
  readonly cache: string;
  /** Store reads: all, and the successful ones; one for each store and metric. */
  readonly shards: { readonly requested: number; readonly responded: number };
  /** Of a request with several plans; a request with one plan reports both elsewhere. */
  readonly total?: {
    /** Expected cost units. */
    readonly estimate: number;
    /** Cost units that were charged. */
    readonly cost: number;
    readonly durationMs: number;
  };
}

/** The headers that all responses with data have. */
export function responseHeaders(report: ResponseReport): Readonly<Record<string, string>> {
  const { downsample, partial, plan, cache, shards, total } = report;
  return {
    ...freshnessHeader(report.freshness),
    "X-Downsample": downsample,
    "X-Partial": String(partial),
    "X-Query-Plan": plan,
    "X-Query-Cache": cache,
    "X-Query-Shards": `asked=${shards.requested}, answered=${shards.responded}`,
    ...(total === undefined ? {} : totalHeaders(total)),
  };
}

function totalHeaders({ estimate, cost, durationMs }: NonNullable<ResponseReport["total"]>) {
  return {
    "X-Query-Cost-Estimate": String(estimate),
    "X-Query-Cost": String(cost),
    "Server-Timing": `total;dur=${durationMs.toFixed(1)}`,
  };
}

/**
 * `memory;hit=230;shared=20;miss=10;extents="memory*210 shared*20 store*10"`. It counts the points of all ranges. Of
 * the hits, `finer` were merged from narrower points, `shared` were read by another pod and `stale` had just expired.
 * `extents` names the source of the points of the response, in their order. Source: seed "Operational Metrics API" §6.
 */
export function cacheHeader(source: DataSource, counts: CacheCounts, { grid }: Plan): string {
  if (source === "snapshot") return "snapshot";
  const { hit, finer, shared, stale, miss, isOn, sourcedRanges } = counts;
  const some = (name: string, count: number): string => (count === 0 ? "" : `;${name}=${count}`);
  if (!isOn) return "off";
  const hits = `hit=${hit}${some("finer", finer)}${some("shared", shared)}${some("stale", stale)}`;
  return `memory;${hits};miss=${miss};extents="${formatExtents(extentStatuses(sourcedRanges, grid))}"`;
}

/** The header with the greatest age; no header without any sample, since a response is as fresh as its oldest part. */
export function freshnessHeader(ages: readonly (number | undefined)[]): Readonly<Record<string, string>> {
  const seen = ages.filter((seconds) => seconds !== undefined);
  return seen.length === 0 ? {} : { [freshnessName]: `${Math.max(...seen)}s` };
}

/** The age that the headers of a response report, in seconds; undefined without the header. */
export function freshnessOf(headers: Readonly<Record<string, string>>): number | undefined {
  const text = headers[freshnessName];
  return text === undefined ? undefined : Number.parseInt(text, 10);
}

/** The word of all parts of a response, `mixed` if they differ. */
export function oneOrMixed(values: readonly string[]): string {
  const [first = "none", ...others] = new Set(values);
  return others.length === 0 ? first : "mixed";
}

/** Forbids caches to store a response. An item of a bulk has this header too. */
export const noStore: Readonly<Record<string, string>> = { "Cache-Control": "no-store" };

/** Measures the steps of one request. */
export interface ServerTiming {
  /** Ends the previous step and starts this one; a repeated step adds to its duration. */
  step(name: TimedStep): void;
  /** `query;dur=0.2, stores;dur=11.8`, in milliseconds. Source: W3C Server Timing §2. */
  header(): string;
}

/** `query` is parsing, authorization and planning. */
type TimedStep = "query" | "stores" | "answer";

/** Creates a timing without a step. */
export function createServerTiming(): ServerTiming {
  const durations = new Map<TimedStep, number>();
  let current: { readonly name: TimedStep; readonly sinceMs: number } | undefined;
  const end = (): void => {
    if (current !== undefined)
      durations.set(current.name, (durations.get(current.name) ?? 0) + performance.now() - current.sinceMs);
    current = undefined;
  };
  return {
    step(name) {
      end();
      current = { name, sinceMs: performance.now() };
    },
    header() {
      end();
      return [...durations].map(([name, ms]) => `${name};dur=${ms.toFixed(1)}`).join(", ");
    },
  };
}

const idLength = 22;

/**
 * The `correlation_id` of a body: a digest of everything else in it. Equal contents have equal ids in all pods and
 * requests, so that the ETag of a body changes with its data only.
 *
 * @returns 22 characters of base64url
 */
export function contentId(content: unknown): string {
  return hash("sha256", JSON.stringify(content), "base64url").slice(0, idLength);
}

/** Lists the deprecated metrics for a response, in the given order. */
export function deprecationNotices(metrics: readonly MetricConfig[]): NonNullable<QueryMeta["deprecated"]> {
  return metrics.flatMap(({ id, deprecatedAtMs, sunsetAtMs, replacedBy }) => {
    if (deprecatedAtMs === undefined || sunsetAtMs === undefined) return [];
    const times = { deprecated_at: formatTime(deprecatedAtMs), sunset_at: formatTime(sunsetAtMs) };
    return [{ metric: id, ...times, ...(replacedBy === undefined ? {} : { replaced_by: replacedBy }) }];
  });
}

/**
 * The headers `Deprecation` and `Sunset` of a response about several metrics: the earliest of each. `Link` names the
 * catalog entries of the replacements. Source: RFC 9745, RFC 8594.
 */
export function deprecationHeaders(metrics: readonly MetricConfig[]): Readonly<Record<string, string>> {
  const deprecated = metrics.filter(({ state }) => state === "Deprecated");
  if (deprecated.length === 0) return {};
  const deprecatedAtMs = Math.min(...deprecated.map((metric) => metric.deprecatedAtMs ?? Infinity));
  const sunsetAtMs = Math.min(...deprecated.map((metric) => metric.sunsetAtMs ?? Infinity));
  const successors = [...new Set(deprecated.flatMap(({ replacedBy }) => replacedBy ?? []))];
  const links = successors.map((id) => `</v1/metrics/catalog?metric=${id}>; rel="successor-version"`);
  return {
    Deprecation: `@${Math.floor(deprecatedAtMs / 1_000)}`,
    Sunset: new Date(sunsetAtMs).toUTCString(),
    ...(links.length === 0 ? {} : { Link: links.join(", ") }),
  };
}

/** Adjacent points of a response that have the same source. */
interface ExtentStatus {
  /** Index of the first point in the grid. */
  readonly offset: number;
  readonly count: number;
  readonly source: PointSource;
}

/**
 * The cache status of each extent of a response. A point of several range queries has the farthest of their sources.
 * Adjacent points with equal sources form one extent.
 */
export function extentStatuses(sourcedRanges: readonly SourcedRange[], grid: PointGrid): readonly ExtentStatus[] {
  // The index in the list plus one; 0 stands for a point without a source.
  const farthest = new Uint8Array(grid.count);
  for (const { startMs, count, source } of sourcedRanges) {
    const rank = pointSources.indexOf(source) + 1;
    const first = Math.round((startMs - grid.startMs) / grid.stepMs);
    for (let index = Math.max(0, first); index < Math.min(grid.count, first + count); index += 1)
      farthest[index] = Math.max(farthest[index] ?? 0, rank);
  }
  return foldEqual(farthest);
}

function foldEqual(ranks: Uint8Array): readonly ExtentStatus[] {
  const extents: ExtentStatus[] = [];
  for (let offset = 0; offset < ranks.length;) {
    let end = offset + 1;
    while (end < ranks.length && ranks[end] === ranks[offset]) end += 1;
    const source = pointSources[(ranks[offset] ?? 0) - 1];
    if (source !== undefined) extents.push({ offset, count: end - offset, source });
    offset = end;
  }
  return extents;
}

/** Most extents that a header lists; it lists the ones before as one `mixed` extent. */
export const listedExtentsMax = 12;

/**
 * `memory*719 store*1`: the points in their order. Of more than {@link listedExtentsMax} extents it lists the newest,
 * which differ most.
 */
export function formatExtents(extents: readonly ExtentStatus[]): string {
  const listed = extents.length <= listedExtentsMax ? extents : extents.slice(1 - listedExtentsMax);
  const others = extents.slice(0, extents.length - listed.length).reduce((sum, { count }) => sum + count, 0);
  const words = listed.map(({ source, count }) => `${source}*${count}`);
  return [...(others === 0 ? [] : [`mixed*${others}`]), ...words].join(" ");
}

/** Longest `X-Query-Plan`, in characters: default proxies take 4 KB of headers in all. */
const planCharactersMax = 384;

/**
 * `class=A, points=720, <metric>;agg=avg;stores=2;ranges=2`. A longer plan is summarized as
 * `class=A, points=720, metrics=28, stores=2, reads=112`; `explain` lists its metrics. Source: RFC 8941 §3.2,
 * dictionaries.
 */
export function describePlan({ query, parts, grid }: Plan): string {
  const head = `class=${query.quota.queryClass}, points=${grid.count}`;
  const members = query.metrics.map((metric) => {
    const own = parts.filter((part) => part.metric === metric);
    const { entry, aggregation } = metric;
    return `${entry.metric.id};agg=${aggregation};stores=${own.length};ranges=${own[0]?.ranges.length ?? 0}`;
  });
  const whole = [head, ...members].join(", ");
  if (whole.length <= planCharactersMax) return whole;
  const stores = new Set(parts.map(({ store }) => store.key)).size;
  const reads = parts.reduce((sum, { ranges }) => sum + ranges.length, 0);
  return `${head}, metrics=${members.length}, stores=${stores}, reads=${reads}`;
}
