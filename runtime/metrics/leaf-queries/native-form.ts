import type { Query } from "../planning/query.ts";
import { formatDuration } from "../request/duration.ts";
import type { Parameters } from "../request/parameters.ts";
import { formatTime } from "../request/time.ts";
import type { Leaf, LeavesRequest } from "../leaves/leaf.ts";

/** The nearest native query of a leaf, for the record of queries. */
export interface NativeForm {
  readonly route: "query" | "instant";
  readonly params: Parameters;
}

/**
 * The native query with the same metric, labels, window and step as a leaf. The record has no form for a width apart
 * from the step, and none for counts and fractions; these have the default aggregation there.
 *
 * @param query undefined when the leaf was refused
 */
export function nativeForm(leaf: Leaf, { times, tenant }: LeavesRequest, query: Query | undefined): NativeForm {
  const { metric, measure, groupBy } = leaf;
  const filters = new Map([...(tenant === undefined ? [] : [["tenant", [tenant]] as const]), ...leaf.filters]);
  const selection: readonly Pair[] = [
    ["metric", [metric]],
    ...(measure.kind === "aggregation" ? [["agg", [measure.aggregation]] as const] : []),
    ...[...filters].map(([label, values]) => [`filter[${label}]`, values.slice(0, 1)] as const),
    ...(groupBy.length === 0 ? [] : [["group_by", [groupBy.join(",")]] as const]),
  ];
  if ("timeMs" in times) return { route: "instant", params: new Map(selection) };
  const widthMs = (leaf.widthSeconds ?? 0) * 1_000;
  const window = query?.window ?? { fromMs: Math.max(0, times.startMs - widthMs), toMs: times.endMs };
  const range: readonly Pair[] = [
    ["from", [formatTime(window.fromMs)]],
    ["to", [formatTime(window.toMs)]],
    ...(query === undefined ? [] : [["step", [formatDuration(query.window.stepSeconds)]] as const]),
  ];
  return { route: "query", params: new Map([...selection, ...range]) };
}

type Pair = readonly [name: string, values: readonly string[]];
