import type { Aggregation } from "../../../crds/config.ts";
import type { Measure } from "../leaves/leaf.ts";

/** The measures that are no aggregations: the number of events, and a share of them. */
export type EventsMeasure = Exclude<Measure, { readonly kind: "aggregation" }>;

/** What is computed of a metric. */
export interface Measured {
  readonly aggregation: Aggregation;
  /** What is computed in place of the aggregation, from partials of it. @default the aggregation itself */
  readonly measure?: EventsMeasure;
}

/** Names what is computed of a metric; equal for equal measures of one metric only. */
export function measureName({ aggregation, measure }: Measured): string {
  if (measure === undefined) return aggregation;
  return measure.kind === "count" ? "count" : `fraction ${measure.threshold}`;
}
