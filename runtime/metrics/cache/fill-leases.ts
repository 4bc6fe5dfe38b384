import { ownerOf } from "../../pods/owner-of.ts";
import { StoreError, type StoreErrorKind } from "../../stores/store-error.ts";
import type { Pods } from "../../pods/pods.ts";

/**
 * The outcome of a request for a fill lease. `own`: this pod reads the missing points and then ends the lease. `done`:
 * another pod has read them. `unknown`: the owner pod did not reply in time.
 */
type Lease =
  | { readonly state: "own"; readonly end: (failure?: StoreError) => void }
  | { readonly state: "done" | "unknown" };

/** Single-flight over all pods: the owner pod of a name grants its lease. Source: design §5 "Extents". */
interface FillLeases {
  /** Waits while another pod has the lease. @throws StoreError the failure of that pod's read */
  take(name: string): Promise<Lease>;
}

const topic = "lease";
/** A lease ends after this time, which is longer than the default deadline of a query. Waiting pods then read too. */
const leaseMs = 2_000;
const waitTimeoutMs = 2_250;
/** Most leases of one owner pod; above that number, every pod reads for itself. */
const leasesMax = 10_000;

interface Failure {
  readonly kind: StoreErrorKind;
  readonly message: string;
}

/** The reply of an owner pod. */
interface LeaseResult {
  readonly state: "own" | "done" | "unknown";
  readonly failure?: Failure | undefined;
}

/** Creates the fill leases and serves the leases that this pod owns. */
export function createFillLeases(pods: Pods): FillLeases {
  const table = createTable();
  pods.serve(topic, (message) => {
    const { take, wait, end, failure } = (message ?? {}) as Readonly<Record<"take" | "wait" | "end", unknown>> & {
      readonly failure?: Failure;
    };
    if (typeof end === "string") table.end(end, failure);
    if (typeof take === "string") return { isFree: table.take(take) };
    return typeof wait === "string" ? table.wait(wait) : {};
  });
  const ask = async (owner: string, name: string): Promise<LeaseResult> => {
    if (owner === pods.own) return table.take(name) ? { state: "own" } : table.wait(name);
    try {
      // Two requests: a missing owner pod shows at the first one, long before a read would end.
      const { isFree } = (await pods.request(owner, topic, { take: name })) as { readonly isFree?: unknown };
      if (typeof isFree !== "boolean") return { state: "unknown" };
      return isFree
        ? { state: "own" }
        : ((await pods.request(owner, topic, { wait: name }, waitTimeoutMs)) as LeaseResult);
    } catch {
      return { state: "unknown" };
    }
  };
  return {
    async take(name) {
      const names = pods.live();
      const owner = ownerOf(name, names) ?? pods.own;
      if (names.length === 1 || !pods.isConnected()) return { state: "unknown" };
      const { state, failure } = await ask(owner, name);
      if (failure !== undefined) throw new StoreError(failure.kind, failure.message);
      if (state !== "own") return { state };
      return {
        state,
        end: (error) => {
          const outcome = error === undefined ? {} : { failure: { kind: error.kind, message: error.message } };
          if (owner === pods.own) table.end(name, outcome.failure);
          else pods.publish(owner, topic, { end: name, ...outcome });
        },
      };
    },
  };
}

interface Table {
  /** Grants the lease, unless another pod has it. @returns true when it was granted */
  take(name: string): boolean;
  /** Waits for the end of the lease. */
  wait(name: string): Promise<LeaseResult>;
  end(name: string, failure: Failure | undefined): void;
}

interface OpenLease {
  readonly ending: Promise<LeaseResult>;
  readonly end: (result: LeaseResult) => void;
}

/** Creates the table of the leases that this pod owns. */
function createTable(): Table {
  const leases = new Map<string, OpenLease>();
  return {
    take(name) {
      if (leases.has(name)) return false;
      if (leases.size >= leasesMax) return true;
      const { promise: ending, resolve: end } = Promise.withResolvers<LeaseResult>();
      const lease = { ending, end };
      leases.set(name, lease);
      const timer = setTimeout(() => {
        end({ state: "unknown" });
        if (leases.get(name) === lease) leases.delete(name);
      }, leaseMs);
      timer.unref();
      return true;
    },
    // A lease that has ended since is done: its points are in the shared extents.
    wait: async (name) => leases.get(name)?.ending ?? { state: "done" },
    end(name, failure) {
      leases.get(name)?.end({ state: "done", failure });
      leases.delete(name);
    },
  };
}
