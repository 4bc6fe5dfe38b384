import type { QueryClass } from "../../../crds/config.ts";
import { aroundReads, type AroundRead } from "../../stores/read-middleware.ts";
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
  readonly waiting: (() => void)[];
}

/** Creates empty bulkheads. */
export function createClassBulkheads(): ClassBulkheads {
  const bulkheads = new Map<string, Bulkhead>();
  const enter = async (name: string, size: number): Promise<Bulkhead> => {
    const bulkhead = bulkheads.get(name) ?? { underWay: 0, waiting: [] };
    bulkheads.set(name, bulkhead);
    // A resumed read takes over the place of the read that left.
    if (bulkhead.underWay < size) bulkhead.underWay += 1;
    else await new Promise<void>((resolve) => bulkhead.waiting.push(resolve));
    return bulkhead;
  };
  const leave = (name: string, bulkhead: Bulkhead): void => {
    const next = bulkhead.waiting.shift();
    if (next !== undefined) return next();
    bulkhead.underWay -= 1;
    if (bulkhead.underWay === 0) bulkheads.delete(name);
  };
  return {
    of(queryClass, stores) {
      const size = bulkheadSizes[queryClass];
      if (size === Number.POSITIVE_INFINITY) return stores;
      // A read whose caller has left fails at once when it is sent, so that it blocks no other read.
      const around: AroundRead = async (read, send) => {
        const name = `${queryClass} ${read.store}`;
        const bulkhead = await enter(name, size);
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
