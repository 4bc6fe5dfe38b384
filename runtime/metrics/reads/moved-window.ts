import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { joinSeries } from "../cache/series-kind.ts";
import { createMissingParts, type MissingPart } from "../merge/merge-scalars.ts";
import type { MergedSeries } from "../merge/merge.ts";
import type { PartResult } from "./read-part.ts";

/** The number of the read of each point, for every range query of every part. Points of equal reads are equal. */
export type PointReads = readonly Float64Array[];

/** The finished series of one metric over one grid. */
export interface FinishedMetric {
  readonly grid: PointGrid;
  readonly reads: PointReads;
  /** Sorted by labels. */
  readonly series: readonly FinishedSeries[];
  /** Points that a store adds nothing to. */
  readonly missing: readonly MissingPart[];
  /** At least the number of groups with a point in the grid, also of those without a finite value. */
  readonly groupsMax: number;
}

/** A merged series and its written points. */
export interface FinishedSeries extends MergedSeries {
  readonly text: SeriesText;
}

/** The span of all points of a grid whose reads differ from those of an earlier grid with the same step. */
export function changedSpan(earlier: FinishedMetric, grid: PointGrid, reads: PointReads): Span {
  const shift = shiftOf(earlier.grid, grid);
  const { count } = earlier.grid;
  const isChanged = (index: number): boolean => {
    const before = index + shift;
    if (before < 0 || before >= count) return true;
    for (let range = 0; range < reads.length; range += 1)
      if (reads[range]?.[index] !== earlier.reads[range]?.[before]) return true;
    return false;
  };
  let begin = 0;
  while (begin < grid.count && !isChanged(begin)) begin += 1;
  let end = grid.count;
  while (end > begin && !isChanged(end - 1)) end -= 1;
  return { begin, end };
}

/** The points of a span, in place of all points. */
export function cutParts(parts: readonly PartResult[], { begin, end }: Span): readonly PartResult[] {
  return parts.map((part) => ({
    ...part,
    ranges: part.ranges.map(({ pieces = [] }) => ({ series: cutPieces(pieces, { begin, end }), pieces: undefined })),
  }));
}

type Pieces = NonNullable<PartResult["ranges"][number]["pieces"]>;

function cutPieces(pieces: Pieces, { begin, end }: Span): ReturnType<typeof joinSeries> {
  const grid = { startMs: begin, stepMs: 1, count: end - begin };
  const own = pieces
    .filter(({ offset, count }) => offset < end && offset + count > begin)
    .map(({ offset, count, cut }) => {
      const from = Math.max(begin, offset);
      const points = Math.min(end, offset + count) - from;
      return {
        split: { offset: from - begin, grid: { startMs: from, stepMs: 1, count: points } },
        series: cut(from - offset, points),
      };
    });
  return joinSeries(own, grid);
}

/**
 * The series over a grid: points of a span from `changed`, and all others from an earlier grid. Series without a number
 * are left out.
 */
export function* moveSeries(
  earlier: FinishedMetric,
  grid: PointGrid,
  { span, changed }: { readonly span: Span; readonly changed: readonly MergedSeries[] },
): Generator<FinishedSeries> {
  const news = new Map(changed.map((series) => [series.key, series]));
  const moving = { span, shift: shiftOf(earlier.grid, grid), count: grid.count };
  for (const before of earlier.series) {
    const own = moveOne(before, news.get(before.key), moving);
    news.delete(before.key);
    if (own !== undefined) yield own;
  }
  for (const own of news.values()) {
    const { values, bounds } = own;
    const wide = (points: Float64Array): Float64Array => spread(undefined, points, moving);
    yield {
      ...own,
      values: wide(values),
      bounds: bounds && { low: wide(bounds.low), high: wide(bounds.high) },
      text: { written: undefined, moved: undefined },
    };
  }
}

/** The missing parts over a grid: points of a span from `changed`, and all others from an earlier grid. */
export function moveMissing(
  earlier: FinishedMetric,
  grid: PointGrid,
  { span, changed }: { readonly span: Span; readonly changed: readonly MissingPart[] },
): readonly MissingPart[] {
  if (earlier.missing.length === 0 && changed.length === 0) return [];
  const moved = createMissingParts();
  const shift = shiftOf(earlier.grid, grid);
  for (const part of earlier.missing) {
    const points = new Uint8Array(grid.count);
    points.set(part.points.subarray(shift, span.begin + shift));
    points.set(part.points.subarray(span.end + shift, grid.count + shift), span.end);
    if (points.includes(1)) moved.add({ ...part, points });
  }
  for (const part of changed) {
    const points = new Uint8Array(grid.count);
    points.set(part.points, span.begin);
    moved.add({ ...part, points });
  }
  return moved.all();
}

interface Moving {
  readonly span: Span;
  /** Added to an index, it gives that of the same time in the earlier grid. */
  readonly shift: number;
  readonly count: number;
}

function moveOne(
  before: FinishedSeries,
  changed: MergedSeries | undefined,
  moving: Moving,
): FinishedSeries | undefined {
  const values = spread(before.values, changed?.values, moving);
  if (values.every((value) => Number.isNaN(value))) return undefined;
  const { bounds } = before;
  return {
    labels: before.labels,
    key: before.key,
    values,
    bounds: bounds && {
      low: spread(bounds.low, changed?.bounds?.low, moving),
      high: spread(bounds.high, changed?.bounds?.high, moving),
    },
    text: movedText(before.text, moving),
  };
}

/** Earlier points outside of the span, and new ones in it. */
function spread(
  before: Float64Array | undefined,
  changed: Float64Array | undefined,
  { span: { begin, end }, shift, count }: Moving,
): Float64Array {
  const values = new Float64Array(count);
  if (before === undefined) values.fill(Number.NaN);
  else {
    values.set(before.subarray(shift, begin + shift));
    values.set(before.subarray(end + shift, count + shift), end);
  }
  if (changed === undefined) values.fill(Number.NaN, begin, end);
  else values.set(changed, begin);
  return values;
}

function shiftOf(earlier: PointGrid, { startMs, stepMs }: PointGrid): number {
  return Math.round((startMs - earlier.startMs) / stepMs);
}

/** Points of one series as a writer wrote them into a body, in order. */
export interface WrittenPoints {
  readonly body: Uint8Array;
  /** Place of the first byte in the body. */
  readonly begin: number;
  /** Place behind the last byte of each point; an absent point has no bytes. */
  readonly ends: Uint32Array;
}

/** The written lists of one series. */
interface WrittenSeries {
  readonly points: WrittenPoints;
  /** Undefined for a series without error bounds. */
  readonly bounds: WrittenPoints | undefined;
}

/** Written points of an earlier body that the next body can copy: those outside of a span. */
interface Moved<Written> {
  readonly written: Written;
  readonly span: Span;
  /** Added to an index, it gives that of the same time in the earlier body. */
  readonly shift: number;
}

/** Adjacent points by their indexes; `end` is behind the last one. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

export type MovedPoints = Moved<WrittenPoints>;

/** The text of a finished series. Its writer fills it in, for the series of later windows. */
interface SeriesText {
  /** Undefined until a body with the series was written. */
  written: WrittenSeries | undefined;
  /** What the first body copies. */
  moved: Moved<WrittenSeries> | undefined;
}

/** The text of a series whose points outside of a span are those of an earlier series. */
function movedText({ written }: SeriesText, { span, shift }: Omit<Moved<WrittenSeries>, "written">): SeriesText {
  // Only the bytes are referenced: a reference to the earlier text would hold all texts before it.
  return { written: undefined, moved: written && { written, span, shift } };
}
