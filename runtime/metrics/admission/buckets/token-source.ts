import type { Bucket, Rate } from "../../../bounds/token-bucket.ts";
import type { BucketStore } from "./bucket-store.ts";
import type { BucketCharge } from "./quota-client.ts";

/** Where the tokens of spenders are. */
export interface TokenSource {
  /** What is left as far as this pod knows. */
  look(charge: BucketCharge): Bucket;
  /** Takes what all claims want, or nothing. */
  take(charges: readonly BucketCharge[]): boolean;
  /** Takes tokens whether they are there or not; a negative count gives back. */
  spend(charge: BucketCharge, count: number): void;
}

/**
 * The tokens that a ledger holds.
 *
 * @param share of every quota, in (0, 1]. What is above the burst of that share costs all of it, and the rest is owed
 */
export function bucketSource(buckets: BucketStore, share: () => number = () => 1): TokenSource {
  const rateOf = ({ limits }: BucketCharge): Rate => ({
    perSecond: limits.perSecond * share(),
    burst: limits.burst * share(),
  });
  const look = (charge: BucketCharge): Bucket => buckets.look(charge.key, rateOf(charge));
  const isShort = (charge: BucketCharge): boolean => {
    const most =
      charge.count > charge.limits.burst ? charge.count : Math.min(charge.count, charge.limits.burst * share());
    return look(charge).tokens < most;
  };
  const spend = (charge: BucketCharge, count: number): void => buckets.spend(charge.key, rateOf(charge), count);
  return {
    look,
    take(charges) {
      if (charges.some(isShort)) return false;
      for (const charge of charges) spend(charge, charge.count);
      return true;
    },
    spend,
  };
}

/** A purse that notes in another what is taken from it; that one is never owed anything by it. */
export function notedSource(source: TokenSource, other: TokenSource): TokenSource {
  const note = (charge: BucketCharge, count: number): void => {
    const there = Math.max(0, other.look(charge).tokens);
    if (count !== 0) other.spend(charge, Math.min(count, there));
  };
  return {
    look: (charge) => source.look(charge),
    take(charges) {
      const ok = source.take(charges);
      if (ok) for (const charge of charges) note(charge, charge.count);
      return ok;
    },
    spend(charge, count) {
      source.spend(charge, count);
      note(charge, count);
    },
  };
}
