import type { Peers } from "../../../pods/pods.ts";
import type { Ledger } from "./bucket-store.ts";
import {
  answerLoans,
  loansMax,
  quotaTopic,
  readGranted,
  readLoanMessage,
  type Loan,
  type LoanMessage,
} from "./allocation-protocol.ts";
import type { Members } from "./bucket-owners.ts";
import { ownerOfKey } from "./quota-client.ts";
import type { Wallet } from "./allocated-tokens.ts";

/** What this pod and the others lend each other. */
export interface Borrower {
  /** Puts into the wallet what a home lends. @returns whether it answered */
  borrow(home: string, loans: readonly Loan[]): Promise<boolean>;
  /** Whether a home did not answer just now. */
  isAway(home: string): boolean;
  /** Gives back what is held for nobody, and lends no more ahead of need. */
  stop(): void;
}

export interface BorrowerDeps {
  readonly now: () => number;
  readonly peers: Peers;
  readonly members: Members;
  /** Buckets of this pod's own. */
  readonly ledger: Ledger;
  readonly wallet: Wallet;
}

/** Tokens that nobody wanted for so long go back to their home. */
const unusedMs = 1_000;
const sweepMs = 500;
/** A home that did not answer is not asked again for so long. */
const awayMs = 1_000;

/** Lends from the ledger, borrows into the wallet, and gives back in turns until it is stopped. */
export function createBorrower({ now, peers, members, ledger, wallet }: BorrowerDeps): Borrower {
  const awayUntilMs = new Map<string, number>();
  peers.serve(quotaTopic, (message) => {
    const read = readLoanMessage(message);
    return read === undefined ? {} : { granted: answerLoans(ledger, read) };
  });
  const tell = (home: string, back: readonly Loan[]): void => {
    const message: LoanMessage = { borrow: [], back, pods: 1 };
    if (home === peers.own) answerLoans(ledger, message);
    else peers.tell(home, quotaTopic, message);
  };
  const giveBack = (idleMs: number): void => {
    for (const [home, loans] of Map.groupBy(wallet.idle(idleMs), ({ key }) => members.homeOf(ownerOfKey(key)))) {
      for (let from = 0; from < loans.length; from += loansMax) tell(home, loans.slice(from, from + loansMax));
    }
  };
  const sweeping = setInterval(() => giveBack(unusedMs), sweepMs);
  sweeping.unref();
  return {
    async borrow(home, loans) {
      try {
        const question: LoanMessage = { borrow: loans, back: [], pods: members.count() };
        const granted = readGranted(await peers.ask(home, quotaTopic, question), loans.length);
        if (granted === undefined) throw new Error("the home of a quota answered something else");
        wallet.lend(loans, granted);
        awayUntilMs.delete(home);
        return true;
      } catch {
        awayUntilMs.set(home, now() + awayMs);
        return false;
      }
    },
    isAway: (home) => (awayUntilMs.get(home) ?? 0) > now(),
    stop() {
      clearInterval(sweeping);
      giveBack(0);
    },
  };
}
