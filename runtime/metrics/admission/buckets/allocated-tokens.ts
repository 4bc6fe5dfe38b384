import { refilled, type Bucket, type Rate } from "../../../../limits/token-bucket.ts";
import type { Granted, AllocationRequest } from "./allocation-protocol.ts";
import type { TokenSource } from "./token-source.ts";
import type { BucketCharge } from "./quota-client.ts";

/** Tokens that owner pods allocated to this pod ahead of use. */
export interface AllocatedTokens extends TokenSource {
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
        // A question for the state of a bucket is no use of its tokens.
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
