import { createHash } from "node:crypto";
import { ExpiringMap } from "../../../limits/bounded-map.ts";
import type { PartOutcome } from "../reads/read-stores.ts";
import type { SloPlan } from "./read-slo.ts";

/** Lifetime of cached data. Source: seed "Operational Metrics API" §8, "In-memory cache". */
export const sloCacheMs = 30_000;
const entriesMax = 2_048;

/** Data with the outcomes of its reads. */
export interface StoreReads {
  /** One for each store. */
  readonly outcomes: readonly PartOutcome[];
}

/** Data with the time of its oldest read. */
export interface DatedData<Data> {
  readonly data: Data;
  /** Unix milliseconds. */
  readonly readAtMs: number;
}

/** The data of recent plans; concurrent requests for equal data share one read. */
export interface SloCache<Data extends StoreReads> {
  /** Tests if the data of a plan is cached, or its read is in progress. */
  has(plan: SloPlan, nowMs: number): boolean;
  /**
   * The cached data of a plan, else that of `read`. Data that lacks a store is not cached, and no read is used for
   * longer than its lifetime.
   *
   * @param nowMs Unix milliseconds
   */
  get(
    plan: SloPlan,
    nowMs: number,
    read: () => Promise<DatedData<Data>>,
  ): { readonly hit: boolean; readonly data: Promise<Data> };
}

/** Creates an empty cache. */
export function createSloCache<Data extends StoreReads>(): SloCache<Data> {
  const entries = new ExpiringMap<string, Promise<DatedData<Data>>>(entriesMax);
  const dataOf = async (dated: Promise<DatedData<Data>>): Promise<Data> => (await dated).data;
  return {
    has: (plan, nowMs) => entries.get(keyOf(plan), nowMs) !== undefined,
    get(plan, nowMs, read) {
      const key = keyOf(plan);
      const cached = entries.get(key, nowMs);
      if (cached !== undefined) return { hit: true, data: dataOf(cached) };
      const dated = read();
      entries.set(key, dated, nowMs + sloCacheMs);
      const settle = (readAtMs: number): void => {
        if (entries.get(key, nowMs) === dated) entries.set(key, dated, readAtMs + sloCacheMs);
      };
      const forget = (): void => {
        if (entries.get(key, nowMs) === dated) entries.delete(key);
      };
      dated.then(
        ({ data, readAtMs }) => (data.outcomes.every(({ outcome }) => outcome.ok) ? settle(readAtMs) : forget()),
        forget,
      );
      return { hit: false, data: dataOf(dated) };
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
