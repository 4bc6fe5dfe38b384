import type { QueryClass } from "../../../crds/config.ts";
import { aroundReads, type AroundRead } from "../../stores/read-middleware.ts";
import type { Stores } from "../../stores/store-set.ts";

/**
 * Requests of one class to one store at once. A store has sixteen connections: the slower classes together leave some
 * of them to real time, whatever they ask. Source: wire "Metrics", seed "Operational Metrics API" §2.6.
 */
export const bulkheadSizes: Readonly<Record<QueryClass, number>> = { A: Number.POSITIVE_INFINITY, B: 7, C: 5 };

/** Keeps the classes from taking all connections of a store. */
export interface ClassBulkheads {
  /** The same stores, whose reads wait until their class has room, in the order in which they came. */
  of(queryClass: QueryClass, stores: Stores): Stores;
}

interface Bulkhead {
  underWay: number;
  readonly waiting: (() => void)[];
}

/** Nothing under way. */
export function createClassBulkheads(): ClassBulkheads {
  const bulkheads = new Map<string, Bulkhead>();
  const enter = async (name: string, width: number): Promise<Bulkhead> => {
    const bulkhead = bulkheads.get(name) ?? { underWay: 0, waiting: [] };
    bulkheads.set(name, bulkhead);
    // Whoever is called has the place of the one that left.
    if (bulkhead.underWay < width) bulkhead.underWay += 1;
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
      const width = bulkheadSizes[queryClass];
      if (width === Number.POSITIVE_INFINITY) return stores;
      // One whose caller has left meanwhile fails at once when it is sent, so that nobody waits behind it.
      const around: AroundRead = async (read, send) => {
        const name = `${queryClass} ${read.store}`;
        const bulkhead = await enter(name, width);
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
