import { BoundedMap } from "../../../limits/bounded-map.ts";
import { ageMsMax } from "../cache/extents.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { listNames } from "../authorization/access.ts";
import type { MissingPart } from "../merge/merge-scalars.ts";
import { type MergedSeries, mergedSeriesMax, mergeMetric } from "../merge/merge.ts";
import { compareLabels, type Plan } from "../planning/plan.ts";
import { measureName, type QueriedMetric, type Query } from "../planning/query.ts";
import { writtenFilters } from "../request/parameters.ts";
import { firstPointMs, widthApart } from "../request/window.ts";
import {
  changedSpan,
  cutParts,
  type FinishedMetric,
  type FinishedSeries,
  moveMissing,
  moveSeries,
  type PointReads,
  type Span,
} from "./moved-window.ts";
import type { PartResult } from "./read-part.ts";

/** Numbers of reads; equal reads have equal numbers. */
type NumberReads = (read: object) => number;

/** What finishing needs besides the parts. */
export interface Finishing {
  readonly plan: Plan;
  readonly finished: FinishedMetrics;
}

/** What a step yields: its series come together, sorted, at the end. */
type Step = readonly never[];
const noSeries: Step = [];

/**
 * Finishes one metric, one series in each step. It returns the series sorted by labels, and the parts that stores lack.
 * A point depends on the reads of its own time only. Points that an earlier window has from the same reads are
 * therefore not merged again.
 *
 * @throws ApiError `incompatible_buckets`, `result_too_large`
 */
export function* finishMetric(
  metric: QueriedMetric,
  parts: readonly PartResult[],
  { plan, finished }: Finishing,
): Generator<Step, Pick<FinishedMetric, "series" | "missing">> {
  const { grid, query } = plan;
  // A single point shares nothing with a later one.
  const reads = grid.count > 1 ? readsOf(parts, grid, finished.numberOf) : undefined;
  if (reads === undefined) return yield* finishAfresh(metric, parts, plan);
  const stores = parts.map(({ part }) => part.store);
  const key = metricIdentityOf(query, metric, stores);
  const earlier = finished.find(key, grid, reads);
  const moved = earlier && (yield* finishMoved(metric, parts, { plan, earlier }));
  const made = moved ?? (yield* finishAfresh(metric, parts, plan));
  finished.add(key, { grid, reads, ...made }, earlier?.metric);
  return made;
}

/** The reads of all points of a metric; undefined when some points are of no known read. */
function readsOf(parts: readonly PartResult[], { count }: PointGrid, numberOf: NumberReads): PointReads | undefined {
  const reads: Float64Array[] = [];
  for (const { ranges, layout } of parts) {
    // Native histograms of a window have one layout, so that their points depend on each other.
    if (layout !== undefined) return undefined;
    for (const { pieces } of ranges) {
      if (pieces === undefined) return undefined;
      const own = new Float64Array(count);
      for (const { read, offset, count: points } of pieces) own.fill(numberOf(read), offset, offset + points);
      if (own.includes(0)) return undefined;
      reads.push(own);
    }
  }
  return reads;
}

type Made = Pick<FinishedMetric, "series" | "groupsMax" | "missing">;

function* finishAfresh({ recipe }: QueriedMetric, parts: readonly PartResult[], plan: Plan): Generator<Step, Made> {
  const { merged, groups, missing } = yield* mergeAll(recipe, parts, plan);
  const series = sortedByLabels(merged.map((one) => ({ ...one, text: { written: undefined, moved: undefined } })));
  return { series, groupsMax: groups, missing };
}

/** Sorts series by labels. */
function sortedByLabels<Series extends MergedSeries>(series: readonly Series[]): readonly Series[] {
  return series.toSorted((a, b) => compareLabels(a.labels, b.labels));
}

/** Merges the points of the span only. Undefined when all groups together could be too many. */
function* finishMoved(
  { recipe }: QueriedMetric,
  parts: readonly PartResult[],
  { plan, earlier: { metric, span } }: { readonly plan: Plan; readonly earlier: EarlierWindow },
): Generator<Step, Made | undefined> {
  const { startMs, stepMs } = plan.grid;
  const grid = { startMs: startMs + span.begin * stepMs, stepMs, count: span.end - span.begin };
  const { merged, groups, missing } =
    grid.count === 0
      ? { merged: [], groups: 0, missing: [] }
      : yield* mergeAll(recipe, cutParts(parts, span), { ...plan, grid });
  const known = new Set(metric.series.map(({ key }) => key));
  const added = merged.filter(({ key }) => !known.has(key)).length;
  const groupsMax = metric.groupsMax + added + groups - merged.length;
  if (groupsMax > mergedSeriesMax) return undefined;
  const series: FinishedSeries[] = [];
  for (const one of moveSeries(metric, plan.grid, { span, changed: merged })) {
    series.push(one);
    yield noSeries;
  }
  return {
    series: added === 0 ? series : sortedByLabels(series),
    groupsMax,
    missing: moveMissing(metric, plan.grid, { span, changed: missing }),
  };
}

interface MergedAll {
  readonly merged: readonly MergedSeries[];
  readonly groups: number;
  readonly missing: readonly MissingPart[];
}

function* mergeAll(...[recipe, parts, plan]: Parameters<typeof mergeMetric>): Generator<Step, MergedAll> {
  const merging = mergeMetric(recipe, parts, plan);
  const merged: MergedSeries[] = [];
  let next = merging.next();
  for (; next.done !== true; next = merging.next()) {
    merged.push(next.value);
    yield noSeries;
  }
  return { merged, ...next.value };
}

/** Most windows of one query: panels of different lengths. */
const windowsMax = 4;

/** An earlier window with equal points, and the span of the points that differ. */
interface EarlierWindow {
  readonly metric: FinishedMetric;
  readonly span: Span;
}

/** Recently finished metrics, by everything that their points depend on besides the window. */
export interface FinishedMetrics {
  readonly numberOf: NumberReads;
  /** The window that shares most points with a grid; undefined when none shares half of them. */
  find(key: string, grid: PointGrid, reads: PointReads): EarlierWindow | undefined;
  /** Adds a window in place of the earlier one that it was made from. */
  add(key: string, metric: FinishedMetric, earlier: FinishedMetric | undefined): void;
  forget(): void;
}

/** Creates an empty store. @param bytesMax bound on all finished metrics */
export function createFinishedMetrics(bytesMax: number): FinishedMetrics {
  const create = () => new BoundedMap<string, readonly FinishedMetric[]>(bytesMax, bytesOf, { unusedMs: ageMsMax });
  let windows = create();
  // Numbers instead of the reads themselves, so that no finished metric holds the points of its stores.
  const numbers = new WeakMap<object, number>();
  let last = 0;
  return {
    numberOf(read) {
      const known = numbers.get(read);
      if (known !== undefined) return known;
      last += 1;
      numbers.set(read, last);
      return last;
    },
    find(key, grid, reads) {
      let [found, fewest] = [undefined as EarlierWindow | undefined, grid.count / 2];
      for (const metric of windows.use(key) ?? []) {
        const span = changedSpan(metric, grid, reads);
        if (span.end - span.begin > fewest) continue;
        [found, fewest] = [{ metric, span }, span.end - span.begin];
      }
      return found;
    },
    add(key, metric, earlier) {
      const others = (windows.get(key) ?? []).filter((other) => other !== earlier);
      windows.set(key, [...others, metric].slice(-windowsMax));
    },
    forget() {
      windows = create();
    },
  };
}

function bytesOf(windows: readonly FinishedMetric[]): number {
  return windows.reduce(
    (sum, { reads, series }) =>
      reads.reduce((bytes, { byteLength }) => bytes + byteLength, sum + bytesOfSeries(series)),
    0,
  );
}

/** Bytes of a series besides its points: labels, objects, keys. */
const seriesBytes = 512;
/** Bytes of a point: its value, its place in the body, and its text of a time and a number. */
const pointBytes = 8 + 4 + 40;
/** Bytes of the bounds of a point: two values, one place, and their text. */
const boundsBytes = 16 + 4 + 20;
const exemplarBytes = 256;

/** The size of finished series in memory, with their written text. */
export function bytesOfSeries(
  series: readonly (FinishedSeries & {
    readonly exemplars?: readonly object[] | undefined;
    readonly previous?: Float64Array;
  })[],
): number {
  return series.reduce((sum, { values, bounds, previous, exemplars = [] }) => {
    const compared = previous === undefined ? 0 : pointBytes + boundsBytes;
    const point = pointBytes + (bounds === undefined ? 0 : boundsBytes) + compared;
    return sum + seriesBytes + values.length * point + exemplars.length * exemplarBytes;
  }, 0);
}

/** Names everything that the points of one metric depend on besides their times and the reads of its stores. */
export function metricIdentityOf(
  query: Query,
  metric: QueriedMetric,
  stores: readonly { readonly digest: string }[],
): string {
  const { tenant, filters, groupBy, window } = query;
  const own = [metric.entry.metric.id, metric.entry.digest, measureName(metric), stores.map(({ digest }) => digest)];
  // Points of two windows are equal only where their times are: the times of a phase are not multiples of the step.
  const phaseSeconds = (firstPointMs(window) / 1_000) % window.stepSeconds;
  const apart = phaseSeconds === 0 ? widthApart(window) : [window.widthSeconds, phaseSeconds];
  const points = [window.stepSeconds, ...apart];
  return JSON.stringify([tenant, listNames(query.environments), own, writtenFilters(filters), groupBy, ...points]);
}
