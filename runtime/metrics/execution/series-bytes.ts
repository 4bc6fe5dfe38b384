import type { FinishedSeries } from "./moved-window.ts";

/** Bytes of a series besides its points: labels, objects, keys. */
const seriesBytes = 512;
/** Bytes of a point: its value, its place in the body, and its text of a time and a number. */
const pointBytes = 8 + 4 + 40;
/** Bytes of the bounds of a point: two values, one place, and their text. */
const boundsBytes = 16 + 4 + 20;
const exemplarBytes = 256;

/** The size of finished series in memory, with their written text. */
export function bytesOfSeries(
  series: readonly (FinishedSeries & { readonly exemplars?: readonly object[] | undefined })[],
): number {
  return series.reduce((sum, { values, bounds, exemplars = [] }) => {
    const point = pointBytes + (bounds === undefined ? 0 : boundsBytes);
    return sum + seriesBytes + values.length * point + exemplars.length * exemplarBytes;
  }, 0);
}
