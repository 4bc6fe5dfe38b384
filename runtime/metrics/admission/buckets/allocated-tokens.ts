import { refilled, type Bucket, type Rate } from "../../../bounds/token-bucket.ts";
import type { Granted, AllocationRequest } from "./allocation-protocol.ts";
import type { TokenSource } from "./token-source.ts";
import type { BucketCharge } from "./quota-client.ts";

/** Tokens of buckets whose home is another pod, as far as this pod holds any. */
export interface AllocatedTokens extends TokenSource {
  /** What has to be borrowed for the claims; undefined when the home is known to have too little. */
  wanted(charges: readonly BucketCharge[]): readonly AllocationRequest[] | undefined;
  /** Puts in what was lent. */
  allocate(requests: readonly AllocationRequest[], granted: readonly Granted[]): void;
  /** Takes out what was not needed for so long, and what is owed. */
  idle(unusedMs: number): readonly AllocationRequest[];
}

interface Allocation {
  tokens: number;
  /** The bucket at its home as last heard of. */
  known: Bucket | undefined;
  rate: Rate;
  usedAtMs: number;
}

/** Kept for what is known of the home after nothing is held any more. */
const forgottenMs = 60_000;
/** Keys whose tokens may be held. Beyond, those of the oldest are given up. About 300 bytes each. */
const allocationsMax = 50_000;

/** An empty wallet. */
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
  return {
    look(charge) {
      const allocation = allocationOf(charge, charge.limits);
      return { tokens: Math.min(charge.limits.burst, allocation.tokens + atOwner(allocation)), atMs: now() };
    },
    take(charges) {
      if (charges.some((charge) => charge.count > 0 && missing(charge) > 0)) return false;
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
      for (const [index, { key, perSecond, burst }] of requests.entries()) {
        const { tokens = 0, left = 0 } = granted[index] ?? {};
        const allocation = allocationOf({ key }, { perSecond, burst });
        allocation.tokens += tokens;
        allocation.known = { tokens: left, atMs: now() };
        allocation.usedAtMs = now();
      }
    },
    idle(unusedMs) {
      const requests: AllocationRequest[] = [];
      for (const [key, allocation] of kept) {
        const restedMs = now() - allocation.usedAtMs;
        if (restedMs >= forgottenMs) kept.delete(key);
        if (restedMs < unusedMs || allocation.tokens === 0) continue;
        requests.push({ key, count: allocation.tokens, ...allocation.rate });
        allocation.tokens = 0;
      }
      return requests;
    },
  };
}
