import type { DescribedMetric } from "../metrics/metrics-api.ts";
import type { Leaf } from "../metrics/leaves/leaf.ts";
import { writeLeaf } from "./compile/write-leaf.ts";

/**
 * The expression of `query_range` that reads a leaf at the times of its points; undefined where none says it.
 *
 * @param lookUp finds a metric as the caller sees it. @throws what the look-up throws
 */
export function expressionOf(leaf: Leaf, lookUp: (metric: string) => DescribedMetric | undefined): string | undefined {
  return writeLeaf(leaf, lookUp);
}
