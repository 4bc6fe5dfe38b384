import type { Pods } from "../../../pods/pods.ts";
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
interface AllocationClient {
  /** Puts into the wallet what a home lends. @returns whether it answered */
  allocate(owner: string, requests: readonly AllocationRequest[]): Promise<boolean>;
  /** Whether a home did not answer just now. */
  isAway(owner: string): boolean;
  /** Gives back what is held for nobody, and lends no more ahead of need. */
  stop(): void;
}

interface AllocationClientDeps {
  readonly now: () => number;
  readonly pods: Pods;
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
  pods,
  owners,
  buckets,
  allocated,
}: AllocationClientDeps): AllocationClient {
  const awayUntilMs = new Map<string, number>();
  pods.serve(quotaTopic, (message) => {
    const read = parseAllocationMessage(message);
    return read === undefined ? {} : { granted: serveAllocations(buckets, read) };
  });
  const tell = (owner: string, back: readonly AllocationRequest[]): void => {
    const message: AllocationMessage = { borrow: [], back, pods: 1 };
    if (owner === pods.own) serveAllocations(buckets, message);
    else pods.tell(owner, quotaTopic, message);
  };
  const returnTokens = (idleMs: number): void => {
    for (const [owner, requests] of Map.groupBy(allocated.idle(idleMs), ({ key }) =>
      owners.ownerOf(clientKeyOf(key)),
    )) {
      for (let from = 0; from < requests.length; from += requestsMax)
        tell(owner, requests.slice(from, from + requestsMax));
    }
  };
  const sweeping = setInterval(() => returnTokens(unusedMs), sweepMs);
  sweeping.unref();
  return {
    async allocate(owner, requests) {
      try {
        const question: AllocationMessage = { borrow: requests, back: [], pods: owners.count() };
        const granted = readGranted(await pods.ask(owner, quotaTopic, question), requests.length);
        if (granted === undefined) throw new Error("the home of a quota answered something else");
        allocated.allocate(requests, granted);
        awayUntilMs.delete(owner);
        return true;
      } catch {
        awayUntilMs.set(owner, now() + awayMs);
        return false;
      }
    },
    isAway: (owner) => (awayUntilMs.get(owner) ?? 0) > now(),
    stop() {
      clearInterval(sweeping);
      returnTokens(0);
    },
  };
}
