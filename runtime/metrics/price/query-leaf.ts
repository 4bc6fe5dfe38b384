import { Refusal } from "../../errors/refusal.ts";
import type { Caller } from "../authorization/caller.ts";
import type { Leaf, LeavesRequest } from "../leaves/leaf.ts";
import { makeLeaves, type LeafQuery } from "../planning/leaf-query.ts";
import type { Query, QueryContext } from "../planning/query.ts";
import { identityOf } from "../planning/query-identity.ts";
import { firstPointMs, pointCount } from "../request/window.ts";

interface LeafSources {
  readonly caller: Caller;
  readonly queryContext: QueryContext;
  /** Unix milliseconds of the request. */
  readonly nowMs: number;
}

/**
 * The one leaf that reads the same points as a query, at the times of its points. Undefined where an expression cannot
 * say the query: several metrics, exemplars, a later page, a snapshot, or points off the grid of leaves.
 */
export function leafOfQuery(query: Query, sources: LeafSources): Leaf | undefined {
  const [metric, ...others] = query.metrics;
  const isOdd = query.exemplars || query.page > 1 || query.snapshot !== undefined;
  if (metric === undefined || others.length > 0 || isOdd) return undefined;
  const leaf: Leaf = {
    metric: metric.entry.metric.id,
    measure: { kind: "aggregation", aggregation: metric.aggregation },
    filters: query.filters,
    groupBy: query.groupBy,
    widthSeconds: query.window.widthSeconds,
  };
  const made = leafQueryOf(leaf, query, sources);
  return made !== undefined && readsSame(made, query) ? leaf : undefined;
}

function leafQueryOf(
  leaf: Leaf,
  { window }: Query,
  { caller, queryContext, nowMs }: LeafSources,
): LeafQuery | undefined {
  const times = { startMs: firstPointMs(window), endMs: window.toMs, stepMs: window.stepSeconds * 1_000 };
  const request: LeavesRequest = { leaves: [leaf], times, tenant: undefined, isCompleteRequired: false };
  try {
    return makeLeaves(request, caller, queryContext, nowMs)[0];
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Compares the identities of both queries. The downsample is left out: the points themselves have its width. */
function readsSame({ query: own, places }: LeafQuery, query: Query): boolean {
  const isWhole = places.length === pointCount(query.window) && places.every((place, stamp) => place === stamp);
  return isWhole && identityOf(plain(own)) === identityOf(plain(query));
}

function plain(query: Query): Query {
  return { ...query, window: { ...query.window, downsample: undefined } };
}
