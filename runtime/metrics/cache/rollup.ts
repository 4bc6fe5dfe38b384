import type { PointGrid, StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { Narrower } from "../../stores/prometheus/prometheus-client.ts";
import { niceStepsSeconds } from "../request/window.ts";
import { type CachedExtent, cover, type Lifetimes, oldestReads, type OldestReads, type Run } from "./extents.ts";

/** Most narrow points of one rollup. */
const finePointsMax = 50_000;

/** Wide points from cached narrow points. */
export interface RolledUp<Series> {
  readonly extent: CachedExtent<Series>;
  readonly reads: OldestReads;
}

/** The wide points to compute. */
export interface RollupRequest<Series> {
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
function isOfOneInstant(runs: readonly Run<StoreSeries>[], { startMs, stepMs }: PointGrid): boolean {
  const changing = runs.filter(
    ({ extent, offset, count }) => startMs + (offset + count - 1) * stepMs > extent.settledUntilMs,
  );
  return new Set(changing.map(({ extent }) => extent)).size <= 1;
}

interface Merging {
  readonly factor: number;
  readonly merge: Narrower["merge"];
}

interface Wide {
  readonly labels: StoreSeries["labels"];
  readonly fine: Float64Array;
  readonly has: Uint8Array;
}

function mergedSeries(runs: readonly Run<StoreSeries>[], grid: PointGrid, merging: Merging): readonly StoreSeries[] {
  const wholes = new Map<string, Wide>();
  for (const { extent, offset, count } of runs) {
    const first = Math.round((grid.startMs + offset * grid.stepMs - extent.startMs) / grid.stepMs);
    for (const { labels, values, present } of extent.series) {
      const key = JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
      const whole = wholes.get(key) ?? { labels, fine: new Float64Array(grid.count), has: new Uint8Array(grid.count) };
      wholes.set(key, whole);
      whole.fine.set(values.subarray(first, first + count), offset);
      whole.has.set(present.subarray(first, first + count), offset);
    }
  }
  return wholes
    .values()
    .map((whole) => coarse(whole, merging))
    .filter(({ present }) => present.includes(1))
    .toArray();
}

/** Merges each group of `factor` adjacent points into one. */
function coarse({ labels, fine, has }: Wide, { factor, merge }: Merging): StoreSeries {
  const count = fine.length / factor;
  const values = new Float64Array(count);
  const present = new Uint8Array(count);
  for (let index = 0; index < count; index += 1) {
    const from = index * factor;
    const at = has.subarray(from, from + factor).indexOf(1);
    if (at === -1) continue;
    present[index] = 1;
    values[index] = mergers[merge](fine, has, { from: from + at, to: from + factor });
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
