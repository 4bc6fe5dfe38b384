import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { StoreErrorKind } from "../../stores/store-error.ts";

/** The failure of a read, in the form of messages. */
export interface Failure {
  readonly kind: StoreErrorKind;
  readonly message: string;
}

/** The reply of an owner pod to a request or a wait. `waiting`: the lease has not ended within one wait. */
export interface LeaseResult {
  readonly state: "own" | "done" | "unknown" | "waiting";
  readonly failure?: Failure | undefined;
  /** A pod of an earlier version names none. */
  readonly holder?: string | undefined;
}

/** The leases that one pod owns, and the holders of their queries. */
export interface LeaseTable {
  /**
   * Grants the lease, unless another pod has it.
   *
   * @param reader the pod that takes it; undefined for a pod of an earlier version
   * @returns true when it was granted
   */
  take(name: string, reader: string | undefined): boolean;
  /** Waits for the end of the lease, at most for `waitMs`. */
  wait(name: string, waitMs: number): Promise<LeaseResult>;
  end(name: string, result: LeaseResult): void;
  /** The pod that has the lease. */
  reader(name: string): string | undefined;
  /** The pod that last read points of a query. */
  holder(key: string): string | undefined;
  hold(key: string, pod: string): void;
}

/** A lease ends after this time, which is longer than the greatest deadline of a query. Waiting pods then read too. */
export const leaseMs = 30_000;
/** The same for a pod of an earlier version, which cannot be asked whether it reads. */
export const unnamedLeaseMs = 2_000;
/** Most leases of one owner pod; above that number, every pod reads for itself. */
const leasesMax = 10_000;
/** Most queries of one owner pod with a known holder, about 200 bytes each. */
const holdersMax = 20_000;

interface OpenLease {
  readonly reader: string | undefined;
  readonly ending: Promise<LeaseResult>;
  readonly end: (result: LeaseResult) => void;
}

/** Creates a table without leases. */
export function createLeaseTable(): LeaseTable {
  const leases = new Map<string, OpenLease>();
  const holders = new BoundedMap<string, string>(holdersMax);
  return {
    take(name, reader) {
      if (leases.has(name)) return false;
      if (leases.size >= leasesMax) return true;
      const { promise: ending, resolve: end } = Promise.withResolvers<LeaseResult>();
      const lease = { reader, ending, end };
      leases.set(name, lease);
      const timer = setTimeout(
        () => {
          end({ state: "unknown" });
          if (leases.get(name) === lease) leases.delete(name);
        },
        reader === undefined ? unnamedLeaseMs : leaseMs,
      );
      timer.unref();
      return true;
    },
    async wait(name, waitMs) {
      const lease = leases.get(name);
      // A lease that has ended since is done: its holder has the points.
      return lease === undefined ? { state: "done" } : endWithin(lease.ending, waitMs);
    },
    end(name, result) {
      leases.get(name)?.end(result);
      leases.delete(name);
    },
    reader: (name) => leases.get(name)?.reader,
    holder: (key) => holders.get(key),
    hold: (key, pod) => holders.set(key, pod),
  };
}

async function endWithin(ending: Promise<LeaseResult>, waitMs: number): Promise<LeaseResult> {
  const { promise: passed, resolve } = Promise.withResolvers<LeaseResult>();
  const timer = setTimeout(resolve, waitMs, { state: "waiting" });
  try {
    return await Promise.race([ending, passed]);
  } finally {
    clearTimeout(timer);
  }
}
