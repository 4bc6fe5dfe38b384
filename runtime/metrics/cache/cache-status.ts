import type { PointGrid } from "../../stores/prometheus/matrix.ts";

/**
 * Where points came from, the nearest first: `memory` of this pod; `finer`, merged of narrower points of that;
 * `shared`, read by another; `stale`, from memory although its lifetime was just
 * over; `store`.
 */
export const origins = ["memory", "finer", "shared", "stale", "store"] as const;
export type PointSource = (typeof origins)[number];

/** Neighbouring points of one range query of one store that came from the same place. */
export interface SourcedRange extends PointGrid {
  readonly origin: PointSource;
  /** Key of the store. */
  readonly store: string;
}

/** Neighbouring points of an answer that came from the same place. */
interface ExtentStatus {
  /** Place of the first one in the grid. */
  readonly offset: number;
  readonly count: number;
  readonly origin: PointSource;
}

/**
 * One verdict for each extent of an answer. A point that several range queries make is from the farthest place that any
 * of them went to; equal neighbours are one extent.
 */
export function extentStatuses(sourcedRanges: readonly SourcedRange[], grid: PointGrid): readonly ExtentStatus[] {
  // One more than the place in the list; 0 is a point that nothing was noted of.
  const farthest = new Uint8Array(grid.count);
  for (const { startMs, count, origin } of sourcedRanges) {
    const rank = origins.indexOf(origin) + 1;
    const first = Math.round((startMs - grid.startMs) / grid.stepMs);
    for (let index = Math.max(0, first); index < Math.min(grid.count, first + count); index += 1) {
      farthest[index] = Math.max(farthest[index] ?? 0, rank);
    }
  }
  return foldEqual(farthest);
}

function foldEqual(ranks: Uint8Array): readonly ExtentStatus[] {
  const extents: ExtentStatus[] = [];
  for (let offset = 0; offset < ranks.length;) {
    let end = offset + 1;
    while (end < ranks.length && ranks[end] === ranks[offset]) end += 1;
    const origin = origins[(ranks[offset] ?? 0) - 1];
    if (origin !== undefined) extents.push({ offset, count: end - offset, origin });
    offset = end;
  }
  return extents;
}

/** Extents that a header names; those before are one that is `mixed`. */
export const extentsToldMax = 12;

/**
 * `memory*719 store*1`: points from the first on. Of more than {@link extentsToldMax} extents the newest are told,
 * which differ most.
 */
export function tellExtents(extents: readonly ExtentStatus[]): string {
  const told = extents.length <= extentsToldMax ? extents : extents.slice(1 - extentsToldMax);
  const others = extents.slice(0, extents.length - told.length).reduce((sum, { count }) => sum + count, 0);
  const words = told.map(({ origin, count }) => `${origin}*${count}`);
  return [...(others === 0 ? [] : [`mixed*${others}`]), ...words].join(" ");
}
