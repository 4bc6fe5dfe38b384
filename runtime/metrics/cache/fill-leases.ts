import { ownerOf } from "../../pods/owner-of.ts";
import { StoreError, type StoreErrorKind } from "../../stores/store-error.ts";
import type { Pods } from "../../pods/pods.ts";

/**
 * Who does work that several pods want at the same time. `own`: this one does it, and says when it is done. `done`:
 * another did it meanwhile. `unknown`: nobody said anything in time.
 */
type Lease =
  | { readonly state: "own"; readonly end: (failure?: StoreError) => void }
  | { readonly state: "done" | "unknown" };

/** One flight over all pods: the home of a name knows who does its work. Source: design §5 "Extents". */
interface FillLeases {
  /** Waits while another pod does the work. @throws StoreError what that failed with */
  take(name: string): Promise<Lease>;
}

const topic = "lease";
/** Work that takes longer is done by whoever waits for it: above what a query may take by default. */
const leaseMs = 2_000;
const waitTimeoutMs = 2_250;
/** Leases that one home keeps; beyond, everybody does the work. */
const leasesMax = 10_000;

interface Failure {
  readonly kind: StoreErrorKind;
  readonly message: string;
}

/** What a home says. */
interface LeaseResult {
  readonly state: "own" | "done" | "unknown";
  readonly failure?: Failure | undefined;
}

/** Leases among the pods. */
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
      // Two questions, so that a home which is silent is noticed long before work would be done.
      const { isFree } = (await pods.ask(owner, topic, { take: name })) as { readonly isFree?: unknown };
      if (typeof isFree !== "boolean") return { state: "unknown" };
      return isFree ? { state: "own" } : ((await pods.ask(owner, topic, { wait: name }, waitTimeoutMs)) as LeaseResult);
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
          const why = error === undefined ? {} : { failure: { kind: error.kind, message: error.message } };
          if (owner === pods.own) table.end(name, why.failure);
          else pods.tell(owner, topic, { end: name, ...why });
        },
      };
    },
  };
}

interface Table {
  /** Whether nobody does this work; then the asking pod does. */
  take(name: string): boolean;
  /** What becomes of the work, once that is known. */
  wait(name: string): Promise<LeaseResult>;
  end(name: string, failure: Failure | undefined): void;
}

interface Held {
  readonly ending: Promise<LeaseResult>;
  readonly end: (result: LeaseResult) => void;
}

/** The leases whose home this pod is. */
function createTable(): Table {
  const leases = new Map<string, Held>();
  return {
    take(name) {
      if (leases.has(name)) return false;
      if (leases.size >= leasesMax) return true;
      const { promise: ending, resolve: end } = Promise.withResolvers<LeaseResult>();
      const held = { ending, end };
      leases.set(name, held);
      const timer = setTimeout(() => {
        end({ state: "unknown" });
        if (leases.get(name) === held) leases.delete(name);
      }, leaseMs);
      timer.unref();
      return true;
    },
    // Work that ended in between is found where it was shared.
    wait: async (name) => leases.get(name)?.ending ?? { state: "done" },
    end(name, failure) {
      leases.get(name)?.end({ state: "done", failure });
      leases.delete(name);
    },
  };
}
