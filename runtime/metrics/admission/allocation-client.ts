import { type Bucket, type Rate, refilled } from "../../../limits/token-bucket.ts";
import type { Pods } from "../../pods/pods.ts";
import {
  type AllocationMessage,
  type AllocationRequest,
  type Granted,
  parseAllocationMessage,
  quotaTopic,
  readGranted,
  requestsMax,
  serveAllocations,
} from "./allocation-protocol.ts";
import { type BucketCharge, type BucketStore, clientKeyOf, type TokenSource } from "./token-source.ts";

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
const returnedAfterMs = 1_000;
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
  const timer = setInterval(() => returnTokens(returnedAfterMs), sweepMs);
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

/** Tokens that owner pods allocated to this pod ahead of use. */
interface AllocatedTokens extends TokenSource {
  /** The allocations that the charges need; undefined when the owner is known to have too few tokens. */
  wanted(charges: readonly BucketCharge[]): readonly AllocationRequest[] | undefined;
  /** Adds tokens that an owner allocated. */
  allocate(requests: readonly AllocationRequest[], granted: readonly Granted[]): void;
  /** Removes tokens without use for this time, and debts, and returns them as requests. */
  idle(unusedMs: number): readonly AllocationRequest[];
}

interface Allocation {
  tokens: number;
  /** The bucket of the owner in its last response. */
  known: Bucket | undefined;
  rate: Rate;
  usedAtMs: number;
}

/** An unused allocation is removed after this time, with the last state of its owner's bucket. */
const forgottenMs = 60_000;
/** Most allocations, of about 300 bytes each. Above it, the oldest one is dropped with its tokens. */
const allocationsMax = 50_000;

/** Creates a source without tokens. */
export function createAllocatedTokens(now: () => number): AllocatedTokens {
  const kept = new Map<string, Allocation>();
  const allocationOf = ({ key }: Pick<BucketCharge, "key">, rate: Rate): Allocation => {
    const allocation = kept.get(key) ?? { tokens: 0, known: undefined, rate, usedAtMs: now() };
    allocation.rate = rate;
    kept.set(key, allocation);
    const [oldest] = kept.keys();
    if (kept.size > allocationsMax && oldest !== undefined) kept.delete(oldest);
    return allocation;
  };
  const atOwner = ({ known, rate }: Allocation): number =>
    known === undefined ? rate.burst : refilled(known, rate, now()).tokens;
  const spend = (charge: BucketCharge, count: number): void => {
    const allocation = allocationOf(charge, charge.limits);
    allocation.tokens -= count;
    allocation.usedAtMs = now();
  };
  const missing = (charge: BucketCharge): number => charge.count - allocationOf(charge, charge.limits).tokens;
  const has = (charges: readonly BucketCharge[]): boolean =>
    !charges.some((charge) => charge.count > 0 && missing(charge) > 0);
  return {
    look(charge) {
      const allocation = allocationOf(charge, charge.limits);
      return { tokens: Math.min(charge.limits.burst, allocation.tokens + atOwner(allocation)), atMs: now() };
    },
    has,
    take(charges) {
      if (!has(charges)) return false;
      for (const charge of charges) spend(charge, charge.count);
      return true;
    },
    spend,
    wanted(charges) {
      const short = charges.filter((charge) => charge.count > 0 && missing(charge) > 0);
      if (short.some((charge) => atOwner(allocationOf(charge, charge.limits)) < missing(charge))) return undefined;
      return short.map((charge) => ({ key: charge.key, count: missing(charge), ...charge.limits }));
    },
    allocate(requests, granted) {
      for (const [index, { key, count, perSecond, burst }] of requests.entries()) {
        const { tokens = 0, left = 0 } = granted[index] ?? {};
        const allocation = allocationOf({ key }, { perSecond, burst });
        allocation.tokens += tokens;
        allocation.known = { tokens: left, atMs: now() };
        // A request for the state of a bucket does not use its tokens.
        if (count > 0) allocation.usedAtMs = now();
      }
    },
    idle(unusedMs) {
      const requests: AllocationRequest[] = [];
      for (const [key, allocation] of kept) {
        const idleMs = now() - allocation.usedAtMs;
        if (idleMs >= forgottenMs) kept.delete(key);
        if (idleMs < unusedMs || allocation.tokens === 0) continue;
        requests.push({ key, count: allocation.tokens, ...allocation.rate });
        allocation.tokens = 0;
      }
      return requests;
    },
  };
}

/** The owner pods of buckets. */
export interface BucketOwners {
  /** The number of live pods. */
  count(): number;
  /** The pod that owns the buckets of a client. */
  ownerOf(clientKey: string): string;
  /** The first state of a bucket that is new in this pod. */
  readonly begin: (rate: Rate) => Bucket;
}
