import { createHash } from "node:crypto";
import { ExpiringMap } from "../../bounds/expiring-map.ts";
import type { PartOutcome } from "../execution/read-stores.ts";
import type { SloPlan } from "./read-slo.ts";

/** Lifetime of cached data. Source: seed "Operational Metrics API" §8, "In-memory cache". */
const sloCacheMs = 30_000;
const entriesMax = 2_048;

/** Data with the outcomes of its reads. */
export interface StoreReads {
  /** One for each store. */
  readonly outcomes: readonly PartOutcome[];
}

/** The data of recent plans; concurrent requests for equal data share one read. */
export interface SloCache<Data extends StoreReads> {
  /** Tests if the data of a plan is cached, or its read is in progress. */
  has(plan: SloPlan, nowMs: number): boolean;
  /**
   * The cached data of a plan, else that of `read`. Data that lacks a store is not cached.
   *
   * @param nowMs Unix milliseconds
   */
  get(plan: SloPlan, nowMs: number, read: () => Promise<Data>): { readonly hit: boolean; readonly data: Promise<Data> };
}

/** Creates an empty cache. */
export function createSloCache<Data extends StoreReads>(): SloCache<Data> {
  const entries = new ExpiringMap<string, Promise<Data>>(entriesMax);
  return {
    has: (plan, nowMs) => entries.get(keyOf(plan), nowMs) !== undefined,
    get(plan, nowMs, read) {
      const key = keyOf(plan);
      const cached = entries.get(key, nowMs);
      if (cached !== undefined) return { hit: true, data: cached };
      const data = read();
      entries.set(key, data, nowMs + sloCacheMs);
      const forget = (): void => {
        if (entries.get(key, nowMs) === data) entries.delete(key);
      };
      data.then(({ outcomes }) => (outcomes.every(({ outcome }) => outcome.ok) ? undefined : forget()), forget);
      return { hit: false, data };
    },
  };
}

/**
 * The key of all inputs of the data: the objective, the metric and stores of the current catalog, the permitted tenant
 * and environments, and the windows. A change of any of them is a miss.
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
