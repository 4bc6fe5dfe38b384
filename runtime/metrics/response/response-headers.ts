import { hash } from "node:crypto";
import { extentStatuses, formatExtents } from "../cache/cache-status.ts";
import type { CacheCounts } from "../cache/cached-stores.ts";
import type { Plan } from "../planning/plan.ts";
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
  readonly shards: { readonly asked: number; readonly answered: number };
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
    "X-Query-Shards": `asked=${shards.asked}, answered=${shards.answered}`,
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

/** The word of all parts of a response, `mixed` where they differ. */
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
