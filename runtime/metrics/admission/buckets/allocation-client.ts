import type { Peers } from "../../../pods/pods.ts";
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
import { clientKeyOf } from "./quota-client.ts";
import type { AllocatedTokens } from "./allocated-tokens.ts";

/** What this pod and the others lend each other. */
export interface AllocationClient {
  /** Puts into the wallet what a home lends. @returns whether it answered */
  allocate(home: string, requests: readonly AllocationRequest[]): Promise<boolean>;
  /** Whether a home did not answer just now. */
  isAway(home: string): boolean;
  /** Gives back what is held for nobody, and lends no more ahead of need. */
  stop(): void;
}

export interface AllocationClientDeps {
  readonly now: () => number;
  readonly peers: Peers;
  readonly owners: BucketOwners;
  /** Buckets of this pod's own. */
  readonly buckets: BucketStore;
  readonly allocated: AllocatedTokens;
}

/** Tokens that nobody wanted for so long go back to their home. */
const unusedMs = 1_000;
const sweepMs = 500;
/** A home that did not answer is not asked again for so long. */
const awayMs = 1_000;

/** Lends from the ledger, borrows into the wallet, and gives back in turns until it is stopped. */
export function createAllocationClient({
  now,
  peers,
  owners,
  buckets,
  allocated,
}: AllocationClientDeps): AllocationClient {
  const awayUntilMs = new Map<string, number>();
  peers.serve(quotaTopic, (message) => {
    const read = parseAllocationMessage(message);
    return read === undefined ? {} : { granted: serveAllocations(buckets, read) };
  });
  const tell = (home: string, back: readonly AllocationRequest[]): void => {
    const message: AllocationMessage = { borrow: [], back, pods: 1 };
    if (home === peers.own) serveAllocations(buckets, message);
    else peers.tell(home, quotaTopic, message);
  };
  const returnTokens = (idleMs: number): void => {
    for (const [home, requests] of Map.groupBy(allocated.idle(idleMs), ({ key }) => owners.homeOf(clientKeyOf(key)))) {
      for (let from = 0; from < requests.length; from += requestsMax)
        tell(home, requests.slice(from, from + requestsMax));
    }
  };
  const sweeping = setInterval(() => returnTokens(unusedMs), sweepMs);
  sweeping.unref();
  return {
    async allocate(home, requests) {
      try {
        const question: AllocationMessage = { borrow: requests, back: [], pods: owners.count() };
        const granted = readGranted(await peers.ask(home, quotaTopic, question), requests.length);
        if (granted === undefined) throw new Error("the home of a quota answered something else");
        allocated.allocate(requests, granted);
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
      returnTokens(0);
    },
  };
}
