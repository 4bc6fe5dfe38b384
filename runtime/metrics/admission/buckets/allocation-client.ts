import type { Pods } from "../../../pods/pods.ts";
import type { BucketStore } from "./bucket-store.ts";
import {
  serveAllocations,
  requestsMax,
  quotaTopic,
  readGranted,
  parseAllocationMessage,
  type AllocationRequest,
  type AllocationMessage,
} from "./allocation-protocol.ts";
import type { BucketOwners } from "./bucket-owners.ts";
import { clientKeyOf, type BucketCharge } from "./quota-client.ts";
import type { AllocatedTokens } from "./allocated-tokens.ts";

/** Exchanges tokens with other pods. */
interface AllocationClient {
  /** Requests allocations from their owner. @returns false without a response */
  allocate(owner: string, requests: readonly AllocationRequest[]): Promise<boolean>;
  /** Asks their owner for the state of buckets and allocates nothing. @returns false without a response */
  ask(owner: string, charges: readonly BucketCharge[]): Promise<boolean>;
  /** True shortly after an owner did not respond. */
  isAway(owner: string): boolean;
  /** Returns all tokens to their owners and stops. */
  stop(): void;
}

interface AllocationClientDeps {
  readonly now: () => number;
  readonly pods: Pods;
  readonly owners: BucketOwners;
  /** The buckets that this pod owns. */
  readonly buckets: BucketStore;
  readonly allocated: AllocatedTokens;
}

/** Tokens without use for this time return to their owner. */
const unusedMs = 1_000;
const sweepMs = 500;
/** So many sharers that the share of each is no whole token: nothing is allocated ahead of use. */
const sharersOfNothing = Number.MAX_SAFE_INTEGER;
/** An owner without a response gets no request for this time. */
const awayMs = 1_000;

/**
 * Creates a client that serves allocations from the own buckets and requests allocations from other pods. It returns
 * unused tokens periodically until it is stopped.
 */
export function createAllocationClient({
  now,
  pods,
  owners,
  buckets,
  allocated,
}: AllocationClientDeps): AllocationClient {
  const awayUntilMs = new Map<string, number>();
  pods.serve(quotaTopic, (message) => {
    const parsed = parseAllocationMessage(message);
    return parsed === undefined ? {} : { granted: serveAllocations(buckets, parsed) };
  });
  const sendBack = (owner: string, back: readonly AllocationRequest[]): void => {
    const message: AllocationMessage = { borrow: [], back, pods: 1 };
    if (owner === pods.own) serveAllocations(buckets, message);
    else pods.publish(owner, quotaTopic, message);
  };
  const returnTokens = (idleMs: number): void => {
    for (const [owner, requests] of Map.groupBy(allocated.idle(idleMs), ({ key }) =>
      owners.ownerOf(clientKeyOf(key)),
    )) {
      for (let from = 0; from < requests.length; from += requestsMax)
        sendBack(owner, requests.slice(from, from + requestsMax));
    }
  };
  const timer = setInterval(() => returnTokens(unusedMs), sweepMs);
  timer.unref();
  const request = async (owner: string, requests: readonly AllocationRequest[], sharers: number): Promise<boolean> => {
    try {
      const message: AllocationMessage = { borrow: requests, back: [], pods: sharers };
      const granted = readGranted(await pods.request(owner, quotaTopic, message), requests.length);
      if (granted === undefined) throw new Error(`the response of the pod ${owner} is not an allocation`);
      allocated.allocate(requests, granted);
      awayUntilMs.delete(owner);
      return true;
    } catch {
      awayUntilMs.set(owner, now() + awayMs);
      return false;
    }
  };
  return {
    allocate: (owner, requests) => request(owner, requests, owners.count()),
    ask(owner, charges) {
      const requests = charges.map(({ key, limits }) => ({ key, count: 0, ...limits }));
      return request(owner, requests, sharersOfNothing);
    },
    isAway: (owner) => (awayUntilMs.get(owner) ?? 0) > now(),
    stop() {
      clearInterval(timer);
      returnTokens(0);
    },
  };
}
