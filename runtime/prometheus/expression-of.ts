import type { DescribedMetric } from "../metrics/metrics-api.ts";
import type { MetricSelector } from "../metrics/request/selector.ts";
import { writeSelector } from "./compile/write-selector.ts";

/**
 * The expression of `query_range` that reads a leaf at the times of its points; undefined where none says it.
 *
 * @param lookUp finds a metric as the caller sees it. @throws what the look-up throws
 */
export function expressionOf(
  leaf: MetricSelector,
  lookUp: (metric: string) => DescribedMetric | undefined,
): string | undefined {
  return writeSelector(leaf, lookUp);
}
