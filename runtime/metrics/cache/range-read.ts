import type { PointGrid, StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { Narrower, RangeGrid, RangeResult } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { niceStepsSeconds } from "../request/window.ts";
import {
  type CachedExtent,
  cover,
  type ExtentRun,
  type Lifetimes,
  type OldestReads,
  oldestReads,
  type PointSource,
  type SourcedRange,
} from "./extents.ts";
import type { ReadCache } from "./read-cache.ts";
import { cutterOf, joinSeries, numberSeries, type SeriesKind } from "./series-kind.ts";

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
export interface SeriesReader<Series> {
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
export interface RangeQuery {
  readonly query: string;
  readonly grid: RangeGrid;
  readonly call: StoreCall;
  readonly settledUntilMs: number;
  /** Set when other pods may use the result. */
  readonly mayShare: boolean;
}

/** A run with the source of its extent. */
export interface SourcedRun<Series> extends ExtentRun<Series> {
  readonly source: PointSource;
  /** The oldest reads of its points. @default those of its extent */
  readonly reads?: OldestReads;
}

/** Runs that cover a grid. */
export interface CoveredRange<Series> extends Pick<RangeResult<Series>, "warning"> {
  readonly runs: readonly SourcedRun<Series>[];
  /** Points that are refreshed because of this read. @default 0 */
  readonly renewed?: number;
}

/** Runs with one source. */
export function withSource<Series>(
  source: PointSource,
  runs: readonly ExtentRun<Series>[],
): readonly SourcedRun<Series>[] {
  return runs.map((run) => ({ ...run, source }));
}

/** Runs of a part of a grid, by their places in the whole grid. */
export function shiftRuns<Series>(
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
  { name }: Pick<SeriesReader<Series>, "name">,
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

/** Most narrow points of one rollup. */
const finePointsMax = 50_000;

/** Wide points from cached narrow points. */
interface RolledUp<Series> {
  readonly extent: CachedExtent<Series>;
  readonly reads: OldestReads;
}

/** The wide points to compute. */
interface RollupRequest<Series> {
  /** Its step is the width of its points. */
  readonly grid: PointGrid;
  readonly narrower: Narrower;
  /** The cached extents of the query with another width, at times that end a wide point or divide one. */
  readonly extents: (query: string, widthMs: number) => readonly CachedExtent<Series>[];
  readonly lifetimes: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Computes wide points from cached narrow points, of the greatest width that is complete; undefined without one. */
export function rollUp(request: RollupRequest<StoreSeries>): RolledUp<StoreSeries> | undefined {
  const { stepMs, count } = request.grid;
  const widths = niceStepsSeconds
    .map((seconds) => seconds * 1_000)
    .filter((widthMs) => widthMs < stepMs && stepMs % widthMs === 0);
  for (const widthMs of widths.toReversed()) {
    if ((stepMs / widthMs) * count > finePointsMax) return undefined;
    const found = fromWidth(request, widthMs);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fromWidth(
  { grid, narrower, extents, lifetimes, nowMs }: RollupRequest<StoreSeries>,
  widthMs: number,
): RolledUp<StoreSeries> | undefined {
  const query = narrower.print(widthMs);
  const cached = query === undefined ? [] : extents(query, widthMs);
  if (cached.length === 0) return undefined;
  const factor = grid.stepMs / widthMs;
  const fine = { startMs: grid.startMs - grid.stepMs + widthMs, stepMs: widthMs, count: grid.count * factor };
  const { runs, gap } = cover(cached, fine, lifetimes, nowMs);
  if (gap !== undefined || !isOfOneInstant(runs, fine)) return undefined;
  const series = mergedSeries(runs, fine, { factor, merge: narrower.merge });
  const readAtMs = Math.min(...runs.map(({ extent }) => extent.readAtMs));
  const settledUntilMs = Math.min(...runs.map(({ extent }) => extent.settledUntilMs));
  return { extent: { ...grid, series, readAtMs, settledUntilMs }, reads: oldestReads(runs, fine) };
}

/**
 * Tests if all points that may still change are of one read. Otherwise a wide point could have a value that the store
 * never had.
 */
function isOfOneInstant(runs: readonly ExtentRun<StoreSeries>[], { startMs, stepMs }: PointGrid): boolean {
  const changing = runs.filter(
    ({ extent, offset, count }) => startMs + (offset + count - 1) * stepMs > extent.settledUntilMs,
  );
  return new Set(changing.map(({ extent }) => extent)).size <= 1;
}

interface Merging {
  readonly factor: number;
  readonly merge: Narrower["merge"];
}

function mergedSeries(
  runs: readonly ExtentRun<StoreSeries>[],
  grid: PointGrid,
  merging: Merging,
): readonly StoreSeries[] {
  const cut = runs.map((run) => ({
    split: { offset: run.offset, grid },
    series: cutterOf(numberSeries, run, grid)(0, run.count),
  }));
  return joinSeries(cut, grid)
    .map((whole) => coarse(whole, merging))
    .filter(({ present }) => present.includes(1));
}

/** Merges each group of `factor` adjacent points into one. */
function coarse({ labels, ...fine }: StoreSeries, { factor, merge }: Merging): StoreSeries {
  const count = fine.values.length / factor;
  const values = new Float64Array(count);
  const present = new Uint8Array(count);
  for (let index = 0; index < count; index += 1) {
    const from = index * factor;
    const at = fine.present.subarray(from, from + factor).indexOf(1);
    if (at === -1) continue;
    present[index] = 1;
    values[index] = mergers[merge](fine.values, fine.present, { from: from + at, to: from + factor });
  }
  return { labels, values, present };
}

interface Span {
  /** The index of a present point. */
  readonly from: number;
  readonly to: number;
}

type Merger = (values: Float64Array, present: Uint8Array, span: Span) => number;

/** Like the merge of stores in `merge-scalars.ts`. */
const mergers: Readonly<Record<Narrower["merge"], Merger>> = {
  sum(values, present, { from, to }) {
    let [sum, lost] = [0, 0];
    for (let index = from; index < to; index += 1) {
      if (present[index] !== 1) continue;
      const value = values[index] ?? Number.NaN;
      const next = sum + value;
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
      sum = next;
    }
    return Number.isFinite(lost) ? sum + lost : sum;
  },
  min: (values, present, span) => pick(values, present, span, (best, value) => value < best),
  max: (values, present, span) => pick(values, present, span, (best, value) => value > best),
};

/** Selects the least or greatest number; NaN only without any number. */
function pick(
  values: Float64Array,
  present: Uint8Array,
  { from, to }: Span,
  isBetter: (best: number, value: number) => boolean,
): number {
  let best = values[from] ?? Number.NaN;
  for (let index = from + 1; index < to; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (present[index] === 1 && (Number.isNaN(best) || isBetter(best, value))) best = value;
  }
  return best;
}
