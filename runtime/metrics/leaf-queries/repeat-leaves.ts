import type { LeavesAdmission } from "../admission/admit-leaves.ts";
import type { Caller } from "../authorization/caller.ts";
import type { PointCounts } from "../cache/cache-status.ts";
import type { Again } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import { isStillCurrent, pointsOf } from "../repeat-query.ts";
import { stampsAt } from "../request/leaf-window.ts";
import type { FoundResponse } from "../response/cached-response.ts";
import type { LeafTimes, Stamps } from "../request/leaf-times.ts";
import { unitedHeaders } from "./leaves-result.ts";

/** A request whose leaves all have cached responses. */
export interface CachedLeaves {
  readonly plans: readonly Plan[];
  readonly caller: Caller;
  readonly times: LeafTimes;
  readonly stamps: Stamps;
  /** In the order of the plans. */
  readonly found: readonly FoundResponse[];
}

interface RepeatSources {
  readonly admitNow: LeavesAdmission["leavesNow"];
  readonly countPoints: (counts: PointCounts) => void;
}

/**
 * Handles an equal request under the same configuration, while every leaf has the same cached data. Cost and quota are
 * computed for each repeat.
 */
export function repeatLeaves(cached: CachedLeaves, { admitNow, countPoints }: RepeatSources): Again {
  const { plans, caller, times, stamps, found } = cached;
  const reads = plans.map(() => ({ outcomes: [], share: 0 }));
  const hit = plans.reduce((sum, plan) => sum + pointsOf(plan).hit, 0);
  return (nowMs) => {
    const { startMs, count } = stampsAt(times, nowMs);
    if (startMs !== stamps.startMs || count !== stamps.count) return undefined;
    if (!plans.every(({ query }) => isStillCurrent(query, nowMs))) return undefined;
    const aged = found.map((one) => one.again(nowMs)).filter((headers) => headers !== undefined);
    const admitted = aged.length === found.length ? admitNow(plans, caller) : undefined;
    if (admitted === undefined) return undefined;
    admitted.charge(reads);
    countPoints({ hit, miss: 0 });
    admitted.end();
    const [only, ...others] = aged;
    return { ...(others.length === 0 ? only : unitedHeaders(aged)), ...admitted.headers() };
  };
}
