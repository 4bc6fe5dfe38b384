import type { StoreSeries } from "../../../runtime/stores/prometheus/matrix.ts";

/** A series over a grid; undefined is a point that the store did not give. */
export function seriesOf(
  values: readonly (number | undefined)[],
  labels: Readonly<Record<string, string>> = {},
): StoreSeries {
  return {
    labels,
    values: Float64Array.from(values, (value) => value ?? 0),
    present: Uint8Array.from(values, (value) => (value === undefined ? 0 : 1)),
  };
}
