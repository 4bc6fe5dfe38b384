import type { QueryClass } from "../../../crds/config.ts";
import { type AroundRead, aroundReads } from "../../stores/read-middleware.ts";
import type { Stores } from "../../stores/store-set.ts";

/**
 * Most concurrent requests of one class to one store. A store has sixteen connections: classes B and C together leave
 * some of them to class A. Source: seed "Operational Metrics API" §2.6.
 */
export const bulkheadSizes: Readonly<Record<QueryClass, number>> = { A: Number.POSITIVE_INFINITY, B: 7, C: 5 };

/** Limits the concurrent requests of each class to each store. */
export interface ClassBulkheads {
  /** Wraps the stores: each read waits in order of arrival until its class has a place. */
  of(queryClass: QueryClass, stores: Stores): Stores;
}

interface Bulkhead {
  underWay: number;
  /** In the order of arrival. */
  readonly waiting: Set<() => void>;
}

/** Creates empty bulkheads. */
export function createClassBulkheads(): ClassBulkheads {
  const bulkheads = new Map<string, Bulkhead>();
  const enter = async (name: string, size: number, signal: AbortSignal): Promise<Bulkhead> => {
    const bulkhead = bulkheads.get(name) ?? { underWay: 0, waiting: new Set() };
    bulkheads.set(name, bulkhead);
    // A resumed read takes over the place of the read that left.
    if (bulkhead.underWay < size) bulkhead.underWay += 1;
    else await waitIn(bulkhead.waiting, signal);
    return bulkhead;
  };
  const leave = (name: string, bulkhead: Bulkhead): void => {
    const [next] = bulkhead.waiting;
    if (next !== undefined) {
      bulkhead.waiting.delete(next);
      return next();
    }
    bulkhead.underWay -= 1;
    if (bulkhead.underWay === 0) bulkheads.delete(name);
  };
  return {
    of(queryClass, stores) {
      const size = bulkheadSizes[queryClass];
      if (size === Number.POSITIVE_INFINITY) return stores;
      const around: AroundRead = async (read, send, { signal }) => {
        const name = `${queryClass} ${read.store}`;
        const bulkhead = await enter(name, size, signal);
        try {
          return await send();
        } finally {
          leave(name, bulkhead);
        }
      };
      return aroundReads(stores, around);
    },
  };
}

/** Waits for a place. @throws the signal's reason if it is aborted first; the read then leaves the queue */
async function waitIn(waiting: Bulkhead["waiting"], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const enter = (): void => resolve(undefined);
  const abort = (): void => {
    waiting.delete(enter);
    reject(signal.reason as Error);
  };
  waiting.add(enter);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
