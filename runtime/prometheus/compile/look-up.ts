import type { MetricConfig } from "../../../crds/config.ts";

/** What the catalog says of a metric. */
export interface KnownMetric {
  readonly metric: Pick<
    MetricConfig,
    "id" | "source" | "labels" | "aggregations" | "defaultAggregation" | "minStepSeconds" | "maxGroupBy"
  >;
  /** The thresholds of its objectives, in any order. */
  readonly thresholds: readonly number[];
}

/** Finds a metric by its id, as a caller sees the catalog. */
export type LookUp = (metric: string) => KnownMetric | undefined;
