import type { AdmitQueryNow } from "./admission/admission.ts";
import type { PointCounts } from "./cache/cache-status.ts";
import { isPastSunset } from "./catalog/deprecation.ts";
import type { CachedQuery } from "./response/cached-response.ts";
import type { Again } from "./metrics-api.ts";
import type { Plan } from "./planning/plan.ts";
import type { Query } from "./planning/query.ts";
import { keepsWindow } from "./planning/keeps-window.ts";

interface RepeatSources {
  readonly admitNow: AdmitQueryNow;
  readonly countPoints: (counts: PointCounts) => void;
}

/**
 * Handles an equal query under the same configuration. Of its inputs, only the window and the sunset of its metrics
 * change with the time. Cost and quota are computed for each repeat query.
 */
export function repeatQuery({ plan, caller, found }: CachedQuery, { admitNow, countPoints }: RepeatSources): Again {
  const { query } = plan;
  const counts = pointsOf(plan);
  return (nowMs) => {
    const aged = isStillCurrent(query, nowMs) ? found.again(nowMs) : undefined;
    const admitted = aged && admitNow(plan, caller);
    if (admitted === undefined) return undefined;
    admitted.charge([], 0);
    countPoints(counts);
    admitted.end();
    return { ...aged, ...admitted.headers() };
  };
}

/** The points of a cached response, all of them hits. A point counts once for each range query. */
export function pointsOf({ grid, parts }: Plan): PointCounts {
  return { hit: grid.count * parts.reduce((sum, { ranges }) => sum + ranges.length, 0), miss: 0 };
}

/** True while the query has the same window and every metric is before its sunset. */
export function isStillCurrent({ metrics, window, windowAt }: Query, nowMs: number): boolean {
  return !metrics.some(({ entry }) => isPastSunset(entry.metric, nowMs)) && keepsWindow({ window, windowAt }, nowMs);
}

/** The repeat queries of one configuration. */
interface RepeatQueries {
  /** Returns the same function, which returns undefined after {@link forget}. */
  remember(again: Again): Again;
  /** Forgets all queries, so that the next ones are handled like new ones. */
  forget(): void;
}

/** Creates empty repeat queries. Returned functions hold no reference to the configuration. */
export function createRepeatQueries(): RepeatQueries {
  let known = new WeakMap<object, Again>();
  return {
    remember(again) {
      const key = {};
      known.set(key, again);
      return (nowMs) => known.get(key)?.(nowMs);
    },
    forget() {
      known = new WeakMap();
    },
  };
}
