import type { Bucket, Rate } from "../../../../limits/token-bucket.ts";
import type { BucketStore } from "./bucket-store.ts";
import type { BucketCharge } from "./quota-client.ts";

/** A source of the tokens of clients. */
export interface TokenSource {
  /** The bucket of a charge, as far as this pod knows. */
  look(charge: BucketCharge): Bucket;
  /** True when {@link take} would take the tokens of all charges. */
  has(charges: readonly BucketCharge[]): boolean;
  /** Takes the tokens of all charges, or none. */
  take(charges: readonly BucketCharge[]): boolean;
  /** Takes tokens, also more than there are. A negative count returns tokens. */
  spend(charge: BucketCharge, count: number): void;
}

/**
 * A source that takes from the buckets of a store.
 *
 * @param share of every quota, in (0, 1]. A charge above the burst of that share takes all of it and owes the rest
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
  const has = (charges: readonly BucketCharge[]): boolean => !charges.some(isShort);
  return {
    look,
    has,
    take(charges) {
      if (!has(charges)) return false;
      for (const charge of charges) spend(charge, charge.count);
      return true;
    },
    spend,
  };
}

/** A source that takes the same tokens from another source too, as far as that one has them. */
export function notedSource(source: TokenSource, other: TokenSource): TokenSource {
  const note = (charge: BucketCharge, count: number): void => {
    const there = Math.max(0, other.look(charge).tokens);
    if (count !== 0) other.spend(charge, Math.min(count, there));
  };
  return {
    look: (charge) => source.look(charge),
    has: (charges) => source.has(charges),
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
