import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import type { RangeGrid, RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { PointSource, SourcedRange } from "./cache-status.ts";
import type { Lifetimes, OldestReads, Run } from "./extents.ts";
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
