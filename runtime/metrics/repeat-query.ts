import type { AdmitQueryNow } from "./admission/admission.ts";
import type { PointCounts } from "./cache/hit-ratio.ts";
import { isPastSunset } from "./catalog/deprecation.ts";
import type { CachedQuery } from "./response/cached-response.ts";
import type { Again } from "./metrics-api.ts";
import type { Plan } from "./planning/plan.ts";
import type { Query } from "./planning/query.ts";
import { keepsWindow } from "./planning/keeps-window.ts";

/** What happens for each query besides its answer. */
interface AgainSources {
  readonly admitNow: AdmitQueryNow;
  readonly countPoints: (counts: PointCounts) => void;
}

/**
 * The same query again, under the same configuration. Of all that it was made of, only its window and the sunset of its
 * metrics move with the time; what it may cost and what is left of its quota are worked out each time.
 */
export function repeatQuery({ plan, caller, found }: CachedQuery, { admitNow, countPoints }: AgainSources): Again {
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

/** All points of an answer that is kept: counted once for each range query, as those are that stores answer. */
export function pointsOf({ grid, parts }: Plan): PointCounts {
  return { hit: grid.count * parts.reduce((sum, { ranges }) => sum + ranges.length, 0), miss: 0 };
}

function isStillCurrent({ metrics, window, windowAt }: Query, nowMs: number): boolean {
  return !metrics.some(({ entry }) => isPastSunset(entry.metric, nowMs)) && keepsWindow({ window, windowAt }, nowMs);
}

/** What was asked before, until the next configuration. */
interface RepeatQueries {
  /** The same, until {@link forget}. */
  remember(again: Again): Again;
  /** Lets go of everything: all of it has to be countPoints at as if it were new. */
  forget(): void;
}

/** Nothing yet. Whoever holds what was remembered holds nothing of the configuration. */
export function createRepeatQueries(): RepeatQueries {
  let known = new WeakMap<object, Again>();
  return {
    remember(again) {
      const name = {};
      known.set(name, again);
      return (nowMs) => known.get(name)?.(nowMs);
    },
    forget() {
      known = new WeakMap();
    },
  };
}
