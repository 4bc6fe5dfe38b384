import { createHash } from "node:crypto";
import { ExpiringMap } from "../../../limits/bounded-map.ts";
import { type AroundRead, aroundReads } from "../../stores/read-middleware.ts";
import type { Stores } from "../../stores/store-set.ts";
import type { PartOutcome } from "../reads/read-stores.ts";
import type { SloPlan } from "./read-slo.ts";

/** Lifetime of cached data. Source: seed "Operational Metrics API" §8, "In-memory cache". */
const sloCacheMs = 30_000;
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

/** About 500 bytes each: the single point of an objective, or 31 of its history. */
const readsMax = 20_000;

interface CompletedRead {
  readonly result: unknown;
  /** Unix milliseconds. */
  readonly readAtMs: number;
}

/**
 * Reads of recent requests for objectives. A request that ran out of time leaves what it has read to the next one,
 * which therefore gets further.
 */
export interface CompletedReads {
  /** Wraps the stores. @param note receives the time of each completed read that is used again */
  of(stores: Stores, nowMs: number, note: (readAtMs: number) => void): Stores;
}

/** Creates an empty set of reads. */
export function createCompletedReads(): CompletedReads {
  const reads = new ExpiringMap<string, CompletedRead>(readsMax);
  return {
    of(stores, nowMs, note) {
      const around: AroundRead = async <Result>(read: Parameters<AroundRead>[0], send: () => Promise<Result>) => {
        const key = JSON.stringify([stores.get(read.store).identity, read]);
        const completed = reads.get(key, nowMs);
        if (completed !== undefined) {
          note(completed.readAtMs);
          // Equal reads have equal results, also in type.
          return completed.result as Result;
        }
        const result = await send();
        if (isWhole(result)) reads.set(key, { result, readAtMs: nowMs }, nowMs + sloCacheMs);
        return result;
      };
      return aroundReads(stores, around);
    },
  };
}

/** A store that warns of missing data may have it the next time. */
function isWhole(result: unknown): boolean {
  return (result as { readonly warning?: unknown } | undefined)?.warning !== "incomplete";
}
