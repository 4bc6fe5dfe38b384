import { createHash } from "node:crypto";
import { ExpiringMap } from "../../bounds/expiring-map.ts";
import type { SloPlan, SloData } from "./read-slo.ts";

/** How long a reading serves. Source: seed "Operational Metrics API" §8, "In-memory cache". */
const sloCacheMs = 30_000;
const entriesMax = 2_048;

/** Whole readings of the last seconds; each is made once, however many callers want it. */
export interface SloCache {
  /** Whether the reading of a plan is there, or under way. */
  has(plan: SloPlan, nowMs: number): boolean;
  /**
   * The reading of a plan, or `read`'s. One of which a store is missing is never kept.
   *
   * @param nowMs Unix milliseconds
   */
  get(
    plan: SloPlan,
    nowMs: number,
    read: () => Promise<SloData>,
  ): { readonly hit: boolean; readonly reading: Promise<SloData> };
}

/** An empty cache. */
export function createSloCache(): SloCache {
  const known = new ExpiringMap<string, Promise<SloData>>(entriesMax);
  return {
    has: (plan, nowMs) => known.get(keyOf(plan), nowMs) !== undefined,
    get(plan, nowMs, read) {
      const key = keyOf(plan);
      const cached = known.get(key, nowMs);
      if (cached !== undefined) return { hit: true, reading: cached };
      const reading = read();
      known.set(key, reading, nowMs + sloCacheMs);
      const forget = (): void => {
        if (known.get(key, nowMs) === reading) known.delete(key);
      };
      reading.then(({ outcomes }) => (outcomes.every(({ outcome }) => outcome.ok) ? undefined : forget()), forget);
      return { hit: false, reading };
    },
  };
}

/**
 * Everything that a reading depends on: the objective, the metric and stores as the catalog has them now, the tenant
 * and environments that are allowed, and the windows. So that a change of any of them is a miss.
 */
function keyOf({ view, plans }: SloPlan): string {
  const { slo, entry, grant } = view;
  const recipe = JSON.stringify([
    slo,
    entry.metric,
    grant.metrics.map(({ stores }) => stores),
    grant.tenant,
    grant.environments === "every" ? "every" : [...grant.environments].sort(),
    plans.map(({ query, parts }) => [query.window, parts.map(({ store }) => store.key)]),
  ]);
  return createHash("sha256").update(recipe).digest("base64url");
}
