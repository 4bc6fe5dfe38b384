import type { QueryClass } from "../../../crds/config.ts";
import { aroundReads, type AroundRead } from "../../stores/read-middleware.ts";
import type { StoreSet } from "../../stores/store-set.ts";

/**
 * Requests of one class to one store at once. A store has sixteen connections: the slower classes together leave some
 * of them to real time, whatever they ask. Source: wire "Metrics", seed "Operational Metrics API" §2.6.
 */
export const laneWidths: Readonly<Record<QueryClass, number>> = { A: Number.POSITIVE_INFINITY, B: 7, C: 5 };

/** Keeps the classes from taking all connections of a store. */
export interface ClassLanes {
  /** The same stores, whose reads wait until their class has room, in the order in which they came. */
  of(queryClass: QueryClass, stores: StoreSet): StoreSet;
}

interface Lane {
  underWay: number;
  readonly waiting: (() => void)[];
}

/** Nothing under way. */
export function createClassLanes(): ClassLanes {
  const lanes = new Map<string, Lane>();
  const enter = async (name: string, width: number): Promise<Lane> => {
    const lane = lanes.get(name) ?? { underWay: 0, waiting: [] };
    lanes.set(name, lane);
    // Whoever is called has the place of the one that left.
    if (lane.underWay < width) lane.underWay += 1;
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
    return lane;
  };
  const leave = (name: string, lane: Lane): void => {
    const next = lane.waiting.shift();
    if (next !== undefined) return next();
    lane.underWay -= 1;
    if (lane.underWay === 0) lanes.delete(name);
  };
  return {
    of(queryClass, stores) {
      const width = laneWidths[queryClass];
      if (width === Number.POSITIVE_INFINITY) return stores;
      // One whose caller has left meanwhile fails at once when it is sent, so that nobody waits behind it.
      const around: AroundRead = async (read, send) => {
        const name = `${queryClass} ${read.store}`;
        const lane = await enter(name, width);
        try {
          return await send();
        } finally {
          leave(name, lane);
        }
      };
      return aroundReads(stores, around);
    },
  };
}
