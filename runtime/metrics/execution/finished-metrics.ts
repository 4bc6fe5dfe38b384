import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { changedSpan, type FinishedMetric, type NumberReads, type PointReads } from "./moved-window.ts";
import { bytesOfSeries } from "./series-bytes.ts";
import type { Span } from "./series-text.ts";

/** Most windows of one query: panels of different lengths. */
const windowsMax = 4;

/** An earlier window with equal points, and the span of the points that differ. */
export interface EarlierWindow {
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
  const create = () => new BoundedMap<string, readonly FinishedMetric[]>(bytesMax, bytesOf);
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
