import type { Stores } from "../../stores/store-set.ts";
import { cover, lifetimesOf } from "../cache/extents.ts";
import { extentKey } from "../cache/range-read.ts";
import type { ReadCache } from "../cache/read-cache.ts";
import type { PlannedPart, Plan } from "../planning/plan.ts";
import { printVector } from "../promql/promql.ts";

/** Where the points of a query would come from: the memory of this pod, its stores, or both. */
export type ExpectedCache = "hit" | "miss" | "partial";

interface CacheSources {
  readonly stores: Stores;
  readonly cache: Pick<ReadCache, "ranges">;
}

/**
 * Looks for the points of a plan in the memory of this pod. It asks neither a store nor another pod, and it rolls
 * nothing up. The source of the points can thus only be better than expected.
 *
 * @returns null for a class whose points are not cached
 */
export function expectedCache(plan: Plan, { stores, cache }: CacheSources, nowMs: number): ExpectedCache | null {
  const lifetimes = lifetimesOf(plan.query);
  if (lifetimes.settledMs === 0) return null;
  let [known, wanted] = [0, 0];
  for (const part of plan.parts) {
    const key = keyOf(part, plan, stores);
    const extents = key === undefined ? [] : cache.ranges.extents(key);
    for (const { grid } of part.splits) {
      wanted += grid.count;
      known += grid.count - (cover(extents, grid, lifetimes, nowMs).gap?.count ?? 0);
    }
  }
  if (known === 0) return "miss";
  return known === wanted ? "hit" : "partial";
}

/** The key of the extents of a part; undefined before the first response of its store. */
function keyOf({ ranges, store, tenant, metric }: PlannedPart, { query, grid }: Plan, stores: Stores) {
  const held = stores.get(store.key);
  const boundary = held.knownCapabilities()?.boundary;
  if (boundary === undefined) return undefined;
  const printed = ranges.map((range) => printVector(range, boundary));
  const isNative = metric.recipe.kind === "quantile" && metric.recipe.histogram === "Native";
  const text = printed.length > 1 ? JSON.stringify(printed) : (printed[0] ?? "");
  const kind = isNative ? "histograms" : printed.length > 1 ? "numbers together" : "numbers";
  const own = { ...grid, rangeMs: query.window.widthSeconds * 1_000 };
  return extentKey({ name: `${kind} of ${held.identity}` }, text, own, { tenant });
}
