import type { PointGrid } from "../../stores/prometheus/matrix.ts";

/**
 * The sources of points, the nearest first: `memory` of this pod; `finer`, rolled up from narrower points in memory;
 * `shared`, within the shared lifetime only: read by another pod, or by this pod some time ago; `stale`, from memory
 * after its lifetime; `store`.
 */
export const pointSources = ["memory", "finer", "shared", "stale", "store"] as const;
export type PointSource = (typeof pointSources)[number];

/** Adjacent points of one range query of one store that have the same source. */
export interface SourcedRange extends PointGrid {
  readonly source: PointSource;
  /** Key of the store. */
  readonly store: string;
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
