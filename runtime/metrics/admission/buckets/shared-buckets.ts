import type { Peers } from "../../../pods/pods.ts";
import { createBorrower } from "./allocation-client.ts";
import { createLedger } from "./bucket-store.ts";
import { followMembers } from "./bucket-owners.ts";
import { ledgerPurse, notedPurse, type Purse } from "./token-source.ts";
import type { Claim } from "./quota-client.ts";
import { createWallet } from "./allocated-tokens.ts";

/** What became of some claims. */
export interface Taken {
  readonly ok: boolean;
  /** Where the tokens were taken from, or were missing. */
  readonly purse: Purse;
}

/** The tokens of all spenders over all pods. */
export interface Purses {
  /**
   * Takes what all claims of one spender want, or nothing. Asks another pod only where this one is not the spender's
   * home and holds too little.
   */
  take(owner: string, claims: readonly Claim[]): Promise<Taken>;
  /**
   * The same without waiting; undefined when another pod has to be asked first, or others wait for it, and nothing was
   * taken.
   */
  takeNow(owner: string, claims: readonly Claim[]): Taken | undefined;
  /** Where one spender's tokens are, as far as this pod knows. */
  purseOf(owner: string): Purse;
  /** Gives back everything that is held for nobody. */
  stop(): void;
}

/**
 * Each spender has a home among the live pods, which keeps its buckets. Other pods borrow from it what they need, and a
 * part of their share ahead, so that no token is spent twice and few requests wait for another pod. Without an answer
 * from the home, and where no pod hears another, a pod spends from buckets of its own, of one pod's share; what it
 * spends otherwise is noted there too, so that a silence of a moment gives nobody a second burst.
 */
export function createPurses(now: () => number, peers: Peers): Purses {
  const members = followMembers(now, peers);
  const ledger = createLedger(now, members.begin);
  const wallet = createWallet(now);
  const share = ledgerPurse(createLedger(now), () => 1 / members.count());
  const alone = ledgerPurse(ledger);
  const home = notedPurse(alone, share);
  const borrowed = notedPurse(wallet, share);
  const borrower = createBorrower({ now, peers, members, ledger, wallet });
  const from = (purse: Purse, claims: readonly Claim[]): Taken => ({ ok: purse.take(claims), purse });

  const takeBorrowed = async (pod: string, claims: readonly Claim[]): Promise<Taken> => {
    const held = from(borrowed, claims);
    const loans = held.ok ? undefined : wallet.wanted(claims);
    if (loans === undefined) return held;
    return from((await borrower.borrow(pod, loans)) ? borrowed : share, claims);
  };

  const turns = createTurns();
  /** The purse that says by itself whether there is enough; undefined where that is another pod's to say. */
  const ownPurse = (owner: string): Purse | undefined => {
    if (members.count() === 1) return alone;
    if (!peers.isConnected()) return share;
    const pod = members.homeOf(owner);
    if (pod === peers.own) return home;
    return borrower.isAway(pod) ? share : undefined;
  };
  return {
    async take(owner, claims) {
      const own = ownPurse(owner);
      if (own !== undefined) return from(own, claims);
      const pod = members.homeOf(owner);
      return turns.take(owner, () => takeBorrowed(pod, claims));
    },
    takeNow(owner, claims) {
      const own = ownPurse(owner);
      if (own !== undefined) return from(own, claims);
      const held = turns.isTaken(owner) ? undefined : from(borrowed, claims);
      return held?.ok === true ? held : undefined;
    },
    purseOf: (owner) => ownPurse(owner) ?? borrowed,
    stop: () => borrower.stop(),
  };
}

interface Turns {
  take(owner: string, work: () => Promise<Taken>): Promise<Taken>;
  /** Whether somebody's turn has not ended. */
  isTaken(owner: string): boolean;
}

/** Work of one spender after another, so that what one borrows is not taken by the next. */
function createTurns(): Turns {
  const last = new Map<string, Promise<Taken>>();
  return {
    isTaken: (owner) => last.has(owner),
    async take(owner, work) {
      const before = last.get(owner);
      const turn = before === undefined ? work() : before.then(work);
      last.set(owner, turn);
      try {
        return await turn;
      } finally {
        if (last.get(owner) === turn) last.delete(owner);
      }
    },
  };
}
