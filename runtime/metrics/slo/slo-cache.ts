import { createHash } from "node:crypto";
import { untilAborted } from "../../../limits/clock.ts";
import { ExpiringMap } from "../../../limits/bounded-map.ts";
import { type AroundRead, aroundReads, type StoreRead } from "../../stores/read-middleware.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { StoreError } from "../../stores/store-error.ts";
import type { Stores } from "../../stores/store.ts";
import { listNames } from "../authorization/access.ts";
import type { Lifetimes } from "../cache/extents.ts";
import type { Plan } from "../planning/plan.ts";
import type { PartOutcome } from "../reads/read-part.ts";
import type { SloPlan } from "./read-slo.ts";

/** Lifetime of cached data. Source: seed "Operational Metrics API" §8, "In-memory cache". */
const sloCacheMs = 30_000;
/**
 * Lifetimes of the slices of gauges, whatever the class. Data of objectives is cached longer than points of most
 * classes, so that theirs would have expired. Source: seed "Operational Metrics API" §8, "Distributed cache".
 */
export const sliceLifetimes: Lifetimes = { settledMs: 300_000, sharedMs: 300_000, tailMs: sloCacheMs };
/** Age at which complete data no longer replaces data that a busy store has not returned in time. */
const earlierMsMax = 300_000;
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
  /** The share of its points that stores computed; the others were cached. */
  readonly share: number;
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
  ): { readonly hit: boolean; readonly dated: Promise<Pick<DatedData<Data>, "data" | "share">> };
  /** The last complete data of a view whatever the end of its windows; undefined above an age of five minutes. */
  earlier(plan: SloPlan, nowMs: number): EarlierData<Data> | undefined;
}

/** Complete data of an earlier request. */
interface EarlierData<Data> {
  readonly plan: SloPlan;
  readonly data: Data;
  /** Unix milliseconds of its oldest read. */
  readonly readAtMs: number;
}

/** Creates an empty cache. */
export function createSloCache<Data extends StoreReads>(): SloCache<Data> {
  const entries = new ExpiringMap<string, Promise<DatedData<Data>>>(entriesMax);
  const earlier = new ExpiringMap<string, EarlierData<Data>>(entriesMax);
  return {
    has: (plan, nowMs) => entries.get(keyOf(plan), nowMs) !== undefined,
    earlier: (plan, nowMs) => earlier.get(viewKeyOf(plan), nowMs),
    get(plan, nowMs, read) {
      const key = keyOf(plan);
      const cached = entries.get(key, nowMs);
      if (cached !== undefined) return { hit: true, dated: cached };
      const dated = read();
      entries.set(key, dated, nowMs + sloCacheMs);
      const settle = ({ data, readAtMs }: DatedData<Data>): void => {
        earlier.set(viewKeyOf(plan), { plan, data, readAtMs }, readAtMs + earlierMsMax);
        if (entries.get(key, nowMs) === dated) entries.set(key, dated, readAtMs + sloCacheMs);
      };
      const forget = (): void => {
        if (entries.get(key, nowMs) === dated) entries.delete(key);
      };
      dated.then(
        (ended) => (ended.data.outcomes.every(({ outcome }) => outcome.ok) ? settle(ended) : forget()),
        forget,
      );
      return { hit: false, dated };
    },
  };
}

/**
 * The key of all inputs of the data: the objective, the metric and stores of the current catalog, the permitted tenant
 * and environments, and the windows. A change of any of them is a miss.
 */
function keyOf(plan: SloPlan): string {
  return digestOf(plan, ({ query }) => query.window);
}

/** The key of the same inputs without the windows, of which those of a calendar change their widths too. */
function viewKeyOf({ view, plans }: SloPlan): string {
  return digestOf({ view, plans: plans.slice(0, 1) }, () => null);
}

function digestOf({ view, plans }: Pick<SloPlan, "view" | "plans">, windowOf: (plan: Plan) => unknown): string {
  const { slo, entry, grant } = view;
  const recipe = JSON.stringify([
    slo,
    entry.metric,
    grant.metrics.map(({ stores }) => stores),
    grant.tenant,
    listNames(grant.environments),
    plans.map((plan) => [windowOf(plan), plan.parts.map(({ store }) => store.key)]),
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
 * Reads of recent requests for objectives. A request that runs out of time leaves them to the next one, which therefore
 * gets further. It also leaves the reads that the store is working on: they end without it.
 */
export interface CompletedReads {
  /** Wraps the stores. @param note receives the time of each completed read that is used again */
  of(stores: Stores, nowMs: number, note: (readAtMs: number) => void): Stores;
}

/** Creates an empty set of reads. */
export function createCompletedReads(): CompletedReads {
  const reads = new ExpiringMap<string, CompletedRead>(readsMax);
  const underWay = new Map<string, Promise<CompletedRead>>();
  const begin = (key: string, readAtMs: number, send: () => Promise<unknown>): Promise<CompletedRead> => {
    const running = completedRead(send(), readAtMs);
    underWay.set(key, running);
    const end = (completed?: CompletedRead): void => {
      underWay.delete(key);
      if (completed !== undefined && isWhole(completed.result)) reads.set(key, completed, readAtMs + sloCacheMs);
    };
    running.then(end, () => end());
    return running;
  };
  return {
    of(stores, nowMs, note) {
      const around: AroundRead = async <Result>(
        read: StoreRead,
        send: () => Promise<Result>,
        { signal }: StoreCall,
      ) => {
        const key = JSON.stringify([stores.get(read.store).identity, read]);
        const known = reads.get(key, nowMs) ?? (await unlessLate(underWay.get(key), signal));
        const completed = known ?? (await untilAborted(underWay.get(key) ?? begin(key, nowMs, send), signal));
        note(completed.readAtMs);
        // Equal reads have equal results, also in type.
        return completed.result as Result;
      };
      return aroundReads(stores, around);
    },
  };
}

async function completedRead(result: Promise<unknown>, readAtMs: number): Promise<CompletedRead> {
  return { result: await result, readAtMs };
}

/** The result of a read of another request; undefined if that one ran out of time before the store got the read. */
async function unlessLate(
  joined: Promise<CompletedRead> | undefined,
  signal: AbortSignal,
): Promise<CompletedRead | undefined> {
  try {
    return joined && (await untilAborted(joined, signal));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StoreError && error.kind === "late") return undefined;
    throw error;
  }
}

/** A store that warns of missing data may have it the next time. */
function isWhole(result: unknown): boolean {
  return (result as { readonly warning?: unknown } | undefined)?.warning !== "incomplete";
}
