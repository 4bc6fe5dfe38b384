import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { PrometheusClient, RangeGrid, RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { Store } from "../../stores/store.ts";
import type { PointSource, SourcedRange } from "./cache-status.ts";
import { type Lifetimes, type OldestReads, type Run, staleLifetimes } from "./extents.ts";
import type { ReadCache } from "./read-cache.ts";
import type { RolledUp, RollupRequest } from "./rollup.ts";
import type { SeriesKind } from "./series-kind.ts";

/** The context of the reads of one query through the cache. */
export interface RangeRead {
  readonly cache: ReadCache;
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Set for a background refresh: shared extents must be young enough for memory. */
  readonly isRefresh?: true;
  /** Receives the source of the points of each range query, and how many of them are refreshed because of it. */
  readonly note: (sourcedRanges: readonly Omit<SourcedRange, "store">[], reads: OldestReads, renewed: number) => void;
}

type ReadSeries<Series> = (query: string, grid: RangeGrid, call: StoreCall) => Promise<RangeResult<Series>>;

/** One kind of series of one store. */
export interface Source<Series> {
  readonly kind: SeriesKind<Series>;
  readonly read: ReadSeries<Series>;
  /** For reads that continue after the response. */
  readonly readLater: ReadSeries<Series>;
  /** Rolls narrow points up to wide ones; undefined for a kind whose points do not merge. */
  readonly rollUp?: (request: RollupRequest<Series>) => RolledUp<Series> | undefined;
  /** Names the kind of series and the store with its current configuration. */
  readonly name: string;
  /** Identity of the store with its current configuration. */
  readonly identity: string;
}

/** One range query. */
export interface Wanted {
  readonly query: string;
  readonly grid: RangeGrid;
  readonly call: StoreCall;
  readonly settledUntilMs: number;
  /** Set when other pods may use the result. */
  readonly mayShare: boolean;
}

/** A run with the source of its extent. */
export interface SourcedRun<Series> extends Run<Series> {
  readonly source: PointSource;
  /** The oldest reads of its points. @default those of its extent */
  readonly reads?: OldestReads;
}

/** Runs that cover a grid. */
export interface Found<Series> extends Pick<RangeResult<Series>, "warning"> {
  readonly runs: readonly SourcedRun<Series>[];
  /** Points that are refreshed because of this read. @default 0 */
  readonly renewed?: number;
}

/** Runs with one source. */
export function from<Series>(source: PointSource, runs: readonly Run<Series>[]): readonly SourcedRun<Series>[] {
  return runs.map((run) => ({ ...run, source }));
}

/** Runs of a part of a grid, by their places in the whole grid. */
export function moved<Series>(
  runs: readonly SourcedRun<Series>[],
  part: PointGrid,
  { startMs, stepMs }: PointGrid,
): readonly SourcedRun<Series>[] {
  const offset = Math.round((part.startMs - startMs) / stepMs);
  return runs.map((run) => ({ ...run, offset: run.offset + offset }));
}

/**
 * The key of an extent: everything that its points depend on, except their times. The times of all points of one key
 * are a multiple of the step apart. Points at multiples of the step have the key that earlier versions know.
 */
export function extentKey<Series>(
  { name }: Pick<Source<Series>, "name">,
  query: string,
  { startMs, stepMs, rangeMs }: Pick<RangeGrid, "startMs" | "stepMs" | "rangeMs">,
  { tenant }: Pick<StoreCall, "tenant">,
): string {
  const phaseMs = startMs % stepMs;
  return JSON.stringify([name, tenant ?? null, query, stepMs, rangeMs, ...(phaseMs === 0 ? [] : [phaseMs])]);
}

/** The key of a read; equal reads share one call. */
export function readKey(key: string, { startMs, count }: PointGrid): string {
  return JSON.stringify([key, startMs, count]);
}

interface WantedInstant {
  /** Identity of the store with its current configuration. */
  readonly identity: string;
  readonly query: string;
  readonly timeMs: number;
  readonly call: StoreCall;
  /** The time before which the store is settled. */
  readonly settledUntilMs: number;
}

interface InstantSource {
  readonly now: PrometheusClient;
  /** For background refreshes, which continue after the response. */
  readonly later: Store;
}

/** Reads the value of an instant query through the cache. The value has the lifetime of a point of its time. */
export async function readInstantValue(
  wanted: WantedInstant,
  { now, later }: InstantSource,
  reading: RangeRead,
): Promise<number | undefined> {
  const { identity, query, timeMs, call, settledUntilMs } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = JSON.stringify([identity, call.tenant ?? null, query, timeMs]);
  const lifetime = timeMs < settledUntilMs ? "settledMs" : "tailMs";
  const cached = cache.instantValues.find(key, nowMs - staleLifetimes(lifetimes)[lifetime]);
  const read = (client: PrometheusClient, signal: AbortSignal): Promise<number | undefined> =>
    cache.singleFlight(
      `instant ${key}`,
      async (ending) => {
        const value = await client.single(query, timeMs, { ...call, signal: ending, bytes: createByteBudget() });
        cache.instantValues.set(key, { value, readAtMs: nowMs });
        return value;
      },
      signal,
    );
  if (cached === undefined) return read(now, call.signal);
  if (nowMs - cached.readAtMs >= lifetimes[lifetime])
    cache.refreshes.begin(`instant ${key}`, identity, (signal) => later.run(() => read(later.client, signal)));
  return cached.value;
}
