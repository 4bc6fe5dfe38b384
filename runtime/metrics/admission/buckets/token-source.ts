import type { Bucket, Rate } from "../../../bounds/token-bucket.ts";
import type { Ledger } from "./bucket-store.ts";
import type { Claim } from "./quota-client.ts";

/** Where the tokens of spenders are. */
export interface Purse {
  /** What is left as far as this pod knows. */
  look(claim: Claim): Bucket;
  /** Takes what all claims want, or nothing. */
  take(claims: readonly Claim[]): boolean;
  /** Takes tokens whether they are there or not; a negative count gives back. */
  spend(claim: Claim, count: number): void;
}

/**
 * The tokens that a ledger holds.
 *
 * @param share of every quota, in (0, 1]. What is above the burst of that share costs all of it, and the rest is owed
 */
export function ledgerPurse(ledger: Ledger, share: () => number = () => 1): Purse {
  const rateOf = ({ limits }: Claim): Rate => ({
    perSecond: limits.perSecond * share(),
    burst: limits.burst * share(),
  });
  const look = (claim: Claim): Bucket => ledger.look(claim.key, rateOf(claim));
  const isShort = (claim: Claim): boolean => {
    const most = claim.count > claim.limits.burst ? claim.count : Math.min(claim.count, claim.limits.burst * share());
    return look(claim).tokens < most;
  };
  const spend = (claim: Claim, count: number): void => ledger.spend(claim.key, rateOf(claim), count);
  return {
    look,
    take(claims) {
      if (claims.some(isShort)) return false;
      for (const claim of claims) spend(claim, claim.count);
      return true;
    },
    spend,
  };
}

/** A purse that notes in another what is taken from it; that one is never owed anything by it. */
export function notedPurse(purse: Purse, other: Purse): Purse {
  const note = (claim: Claim, count: number): void => {
    const there = Math.max(0, other.look(claim).tokens);
    if (count !== 0) other.spend(claim, Math.min(count, there));
  };
  return {
    look: (claim) => purse.look(claim),
    take(claims) {
      const ok = purse.take(claims);
      if (ok) for (const claim of claims) note(claim, claim.count);
      return ok;
    },
    spend(claim, count) {
      purse.spend(claim, count);
      note(claim, count);
    },
  };
}
