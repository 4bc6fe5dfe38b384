import type { Pods } from "../../../pods/pods.ts";
import { createAllocationClient } from "./allocation-client.ts";
import { createBucketStore } from "./bucket-store.ts";
import { followOwners } from "./bucket-owners.ts";
import { bucketSource, notedSource, type TokenSource } from "./token-source.ts";
import type { BucketCharge } from "./quota-client.ts";
import { createAllocatedTokens } from "./allocated-tokens.ts";

/** What became of some claims. */
interface TakeResult {
  readonly ok: boolean;
  /** Where the tokens were taken from, or were missing. */
  readonly source: TokenSource;
}

/** The tokens of all spenders over all pods. */
interface SharedBuckets {
  /**
   * Takes what all claims of one spender want, or nothing. Asks another pod only where this one is not the spender's
   * home and holds too little.
   */
  take(clientKey: string, charges: readonly BucketCharge[]): Promise<TakeResult>;
  /**
   * The same without waiting; undefined when another pod has to be asked first, or others wait for it, and nothing was
   * taken.
   */
  takeNow(clientKey: string, charges: readonly BucketCharge[]): TakeResult | undefined;
  /** Where one spender's tokens are, as far as this pod knows. */
  sourceOf(clientKey: string): TokenSource;
  /** Gives back everything that is held for nobody. */
  stop(): void;
}

/**
 * Each spender has a home among the live pods, which keeps its buckets. Other pods borrow from it what they need, and a
 * part of their share ahead, so that no token is spent twice and few requests wait for another pod. Without an answer
 * from the home, and where no pod hears another, a pod spends from buckets of its own, of one pod's share; what it
 * spends otherwise is noted there too, so that a silence of a moment gives nobody a second burst.
 */
export function createSharedBuckets(now: () => number, pods: Pods): SharedBuckets {
  const owners = followOwners(now, pods);
  const buckets = createBucketStore(now, owners.begin);
  const allocated = createAllocatedTokens(now);
  const share = bucketSource(createBucketStore(now), () => 1 / owners.count());
  const alone = bucketSource(buckets);
  const owned = notedSource(alone, share);
  const remote = notedSource(allocated, share);
  const client = createAllocationClient({ now, pods, owners, buckets, allocated });
  const from = (source: TokenSource, charges: readonly BucketCharge[]): TakeResult => ({
    ok: source.take(charges),
    source,
  });

  const takeAllocated = async (pod: string, charges: readonly BucketCharge[]): Promise<TakeResult> => {
    const taken = from(remote, charges);
    const requests = taken.ok ? undefined : allocated.wanted(charges);
    if (requests === undefined) return taken;
    return from((await client.allocate(pod, requests)) ? remote : share, charges);
  };

  const turns = createTurns();
  /** The purse that says by itself whether there is enough; undefined where that is another pod's to say. */
  const ownSource = (clientKey: string): TokenSource | undefined => {
    if (owners.count() === 1) return alone;
    if (!pods.isConnected()) return share;
    const pod = owners.ownerOf(clientKey);
    if (pod === pods.own) return owned;
    return client.isAway(pod) ? share : undefined;
  };
  return {
    async take(clientKey, charges) {
      const own = ownSource(clientKey);
      if (own !== undefined) return from(own, charges);
      const pod = owners.ownerOf(clientKey);
      return turns.take(clientKey, () => takeAllocated(pod, charges));
    },
    takeNow(clientKey, charges) {
      const own = ownSource(clientKey);
      if (own !== undefined) return from(own, charges);
      const taken = turns.isTaken(clientKey) ? undefined : from(remote, charges);
      return taken?.ok === true ? taken : undefined;
    },
    sourceOf: (clientKey) => ownSource(clientKey) ?? remote,
    stop: () => client.stop(),
  };
}

interface Turns {
  take(clientKey: string, work: () => Promise<TakeResult>): Promise<TakeResult>;
  /** Whether somebody's turn has not ended. */
  isTaken(clientKey: string): boolean;
}

/** Work of one spender after another, so that what one borrows is not taken by the next. */
function createTurns(): Turns {
  const last = new Map<string, Promise<TakeResult>>();
  return {
    isTaken: (clientKey) => last.has(clientKey),
    async take(clientKey, work) {
      const before = last.get(clientKey);
      const turn = before === undefined ? work() : before.then(work);
      last.set(clientKey, turn);
      try {
        return await turn;
      } finally {
        if (last.get(clientKey) === turn) last.delete(clientKey);
      }
    },
  };
}
