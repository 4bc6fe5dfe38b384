// Queries that are repeated while their responses are cached: their text need not be parsed again.
import type { AdmitRepeats } from "../admission/admission.ts";
import type { PointCounts } from "../cache/read-cache.ts";
import type { AgeHeaders } from "../metrics-api.ts";
import { isPastSunset } from "../planning/catalog-entry.ts";
import { plansOf } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import { type CachedQuery, pointsOf } from "./cached-response.ts";
import { keepsWindow } from "./snapshots.ts";

/** The sources of repeats. */
export interface RepeatSources {
  readonly admitRepeats: AdmitRepeats;
  readonly countPoints: (counts: PointCounts) => void;
}

/**
 * Handles an equal query under the same configuration. Of its inputs, only the window and the sunset of its metrics
 * change with the time. Cost and quota are computed for each repeat query.
 */
export function repeatQuery(
  { plan, caller, found }: CachedQuery,
  { admitRepeats, countPoints }: RepeatSources,
): AgeHeaders {
  const { query } = plan;
  const counts = pointsOf(plan);
  const admit = admitRepeats(plansOf(plan), caller);
  return (nowMs) => {
    const aged = isStillCurrent(query, nowMs) ? found.revalidate(nowMs) : undefined;
    const admitted = aged && admit();
    if (admitted === undefined) return undefined;
    countPoints(counts);
    return { ...aged, ...admitted.headers };
  };
}

/** True while the query has the same window and every metric is before its sunset. */
export function isStillCurrent({ metrics, window, windowAt }: Query, nowMs: number): boolean {
  return !metrics.some(({ entry }) => isPastSunset(entry.metric, nowMs)) && keepsWindow({ window, windowAt }, nowMs);
}

/** The repeat queries of one configuration. */
interface RepeatQueries {
  /** Returns the same function, which returns undefined after {@link forget}. */
  remember(revalidate: AgeHeaders): AgeHeaders;
  /** Forgets all queries, so that the next ones are handled like new ones. */
  forget(): void;
}

/** Creates empty repeat queries. Returned functions hold no reference to the configuration. */
export function createRepeatQueries(): RepeatQueries {
  let known = new WeakMap<object, AgeHeaders>();
  return {
    remember(revalidate) {
      const key = {};
      known.set(key, revalidate);
      return (nowMs) => known.get(key)?.(nowMs);
    },
    forget() {
      known = new WeakMap();
    },
  };
}
