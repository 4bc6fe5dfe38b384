import { createHash } from "node:crypto";
import { BoundedMap } from "../../bounds/bounded-map.ts";
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

interface Kept {
  readonly reading: Promise<SloData>;
  readonly atMs: number;
}

/** An empty cache. */
export function createSloCache(): SloCache {
  const kept = new BoundedMap<string, Kept>(entriesMax);
  const find = (key: string, nowMs: number): Kept | undefined => {
    const known = kept.get(key);
    return known !== undefined && nowMs - known.atMs < sloCacheMs ? known : undefined;
  };
  return {
    has: (plan, nowMs) => find(keyOf(plan), nowMs) !== undefined,
    get(plan, nowMs, read) {
      const key = keyOf(plan);
      const known = find(key, nowMs);
      if (known !== undefined) return { hit: true, reading: known.reading };
      const reading = read();
      const own = { reading, atMs: nowMs };
      kept.set(key, own);
      const forget = (): void => {
        if (kept.get(key) === own) kept.delete(key);
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
