import { isolationLabels } from "../request/parameters.ts";
import type { QueriedMetric, Query } from "./query.ts";

/** What requests use of a metric, such as `label psp`, with the number of requests. */
export type MetricUses = Iterable<readonly [name: string, requests: number]>;

/** Most uses of a metric: all aggregations and labels, and as many regions as a catalog has stores. */
const usesMax = 64;
/** Filters of these labels are allowed for every metric, so that they use none of its labels. */
const isolationNames: ReadonlySet<string> = new Set(isolationLabels);

/** Names a use of a metric. */
export function useName(kind: "aggregation" | "label" | "region", name: string): string {
  return `${kind} ${name}`;
}

/** What one query uses of one of its metrics, each once. */
export function usesOf(
  { groupBy, filters }: Pick<Query, "groupBy" | "filters">,
  { aggregation, measure, stores }: QueriedMetric,
): MetricUses {
  const filtered = [...filters.keys()].filter((label) => !isolationNames.has(label));
  const names = [
    ...(measure === undefined ? [useName("aggregation", aggregation)] : []),
    ...[...groupBy, ...filtered].map((label) => useName("label", label)),
    ...stores.map(({ config }) => useName("region", config.region)),
  ];
  return [...new Set(names)].map((name) => [name, 1] as const);
}

/** Adds uses to earlier ones, which change, up to a bound. */
export function addUses(before: Map<string, number> | undefined, uses: MetricUses): Map<string, number> {
  const sums = before ?? new Map<string, number>();
  for (const [name, requests] of uses) {
    const known = sums.get(name);
    if (known !== undefined || sums.size < usesMax) sums.set(name, (known ?? 0) + requests);
  }
  return sums;
}
