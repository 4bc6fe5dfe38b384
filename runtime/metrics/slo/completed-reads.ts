import { ExpiringMap } from "../../../limits/bounded-map.ts";
import { type AroundRead, aroundReads } from "../../stores/read-middleware.ts";
import type { Stores } from "../../stores/store-set.ts";
import { sloCacheMs } from "./slo-cache.ts";

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
