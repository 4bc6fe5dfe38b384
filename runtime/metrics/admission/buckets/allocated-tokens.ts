import { refilled, type Bucket, type Rate } from "../../../bounds/token-bucket.ts";
import type { Granted, Loan } from "./allocation-protocol.ts";
import type { Purse } from "./token-source.ts";
import type { Claim } from "./quota-client.ts";

/** Tokens of buckets whose home is another pod, as far as this pod holds any. */
export interface Wallet extends Purse {
  /** What has to be borrowed for the claims; undefined when the home is known to have too little. */
  wanted(claims: readonly Claim[]): readonly Loan[] | undefined;
  /** Puts in what was lent. */
  lend(loans: readonly Loan[], granted: readonly Granted[]): void;
  /** Takes out what was not needed for so long, and what is owed. */
  idle(unusedMs: number): readonly Loan[];
}

interface Coins {
  held: number;
  /** The bucket at its home as last heard of. */
  known: Bucket | undefined;
  rate: Rate;
  usedAtMs: number;
}

/** Kept for what is known of the home after nothing is held any more. */
const forgottenMs = 60_000;
/** Keys whose tokens may be held. Beyond, those of the oldest are given up. About 300 bytes each. */
const coinsMax = 50_000;

/** An empty wallet. */
export function createWallet(now: () => number): Wallet {
  const kept = new Map<string, Coins>();
  const coinsOf = ({ key }: Pick<Claim, "key">, rate: Rate): Coins => {
    const coins = kept.get(key) ?? { held: 0, known: undefined, rate, usedAtMs: now() };
    coins.rate = rate;
    kept.set(key, coins);
    const [oldest] = kept.keys();
    if (kept.size > coinsMax && oldest !== undefined) kept.delete(oldest);
    return coins;
  };
  const atHome = ({ known, rate }: Coins): number =>
    known === undefined ? rate.burst : refilled(known, rate, now()).tokens;
  const spend = (claim: Claim, count: number): void => {
    const coins = coinsOf(claim, claim.limits);
    coins.held -= count;
    coins.usedAtMs = now();
  };
  const missing = (claim: Claim): number => claim.count - coinsOf(claim, claim.limits).held;
  return {
    look(claim) {
      const coins = coinsOf(claim, claim.limits);
      return { tokens: Math.min(claim.limits.burst, coins.held + atHome(coins)), atMs: now() };
    },
    take(claims) {
      if (claims.some((claim) => claim.count > 0 && missing(claim) > 0)) return false;
      for (const claim of claims) spend(claim, claim.count);
      return true;
    },
    spend,
    wanted(claims) {
      const short = claims.filter((claim) => claim.count > 0 && missing(claim) > 0);
      if (short.some((claim) => atHome(coinsOf(claim, claim.limits)) < missing(claim))) return undefined;
      return short.map((claim) => ({ key: claim.key, count: missing(claim), ...claim.limits }));
    },
    lend(loans, granted) {
      for (const [index, { key, perSecond, burst }] of loans.entries()) {
        const { tokens = 0, left = 0 } = granted[index] ?? {};
        const coins = coinsOf({ key }, { perSecond, burst });
        coins.held += tokens;
        coins.known = { tokens: left, atMs: now() };
        coins.usedAtMs = now();
      }
    },
    idle(unusedMs) {
      const loans: Loan[] = [];
      for (const [key, coins] of kept) {
        const restedMs = now() - coins.usedAtMs;
        if (restedMs >= forgottenMs) kept.delete(key);
        if (restedMs < unusedMs || coins.held === 0) continue;
        loans.push({ key, count: coins.held, ...coins.rate });
        coins.held = 0;
      }
      return loans;
    },
  };
}
