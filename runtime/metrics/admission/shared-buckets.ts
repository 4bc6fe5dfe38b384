// Token buckets over all pods: the owner pod of a client allocates tokens to the others. It knows no query.
import { ownerOf, type Pods } from "../../pods/pods.ts";
import { type BucketOwners, createAllocatedTokens, createAllocationClient } from "./allocation-client.ts";
import { type BucketCharge, bucketSource, createBucketStore, notedSource, type TokenSource } from "./token-source.ts";

/**
 * Most allocations for one request. While the owner responds, the cost of an earlier query or the return of unused
 * tokens may take tokens that were enough before.
 */
const allocationsMax = 3;

/** The result of several charges. */
interface TakeResult {
  readonly ok: boolean;
  /** The source that had the tokens, or had too few. */
  readonly source: TokenSource;
}

/** What is known of the tokens of one client. */
interface RemoteSource {
  readonly source: TokenSource;
  /** True when the owner pod keeps the source, or has just told its state; false for this pod's share in an outage. */
  readonly isOfOwner: boolean;
}

/** The step of a charge: the tokens are taken, or only looked for. */
type ChargeStep = "take" | "has";

/** The buckets of all clients over all pods. */
interface SharedBuckets {
  /**
   * Takes the tokens of all charges of one client, or none. It requests tokens from the owner pod only if this pod
   * has too few.
   */
  take(clientKey: string, charges: readonly BucketCharge[]): Promise<TakeResult>;
  /** Decides as {@link take} does, and takes nothing. The owner pod may allocate tokens, which return unused. */
  has(clientKey: string, charges: readonly BucketCharge[]): Promise<TakeResult>;
  /**
   * Takes tokens synchronously, if those of all charges are there.
   *
   * @param taken the tokens that stay taken, for the same buckets
   * @returns undefined, with nothing taken, when there are too few or the owner pod has to allocate tokens first
   */
  takeNow(clientKey: string, charges: readonly BucketCharge[], taken: readonly BucketCharge[]): TokenSource | undefined;
  /** The source of one client's tokens, as far as this pod knows. */
  sourceOf(clientKey: string): TokenSource;
  /** The source of one client's tokens after its owner pod was asked for the state of their buckets. */
  remoteSource(clientKey: string, charges: readonly BucketCharge[]): Promise<RemoteSource>;
  /** Returns all allocated tokens to their owners. */
  stop(): void;
}

/**
 * Creates shared buckets. One of the live pods owns the buckets of a client. It allocates tokens to other pods: those
 * that they need, and a part of their share ahead of use. No token is thus spent twice, and few requests wait for
 * another pod. Without a response of the owner, a pod takes from own buckets of one pod's share. All other charges are
 * noted there too, so that a short outage allows no second burst.
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
  const from = (source: TokenSource, charges: readonly BucketCharge[], step: ChargeStep = "take"): TakeResult => ({
    ok: source[step](charges),
    source,
  });

  const fromAllocated = async (
    pod: string,
    charges: readonly BucketCharge[],
    step: ChargeStep,
  ): Promise<TakeResult> => {
    for (let allocation = 0; allocation < allocationsMax; allocation += 1) {
      const taken = from(remote, charges, step);
      const requests = taken.ok ? undefined : allocated.wanted(charges);
      if (requests === undefined) return taken;
      if (!(await client.allocate(pod, requests))) return from(share, charges, step);
    }
    return from(remote, charges, step);
  };

  const queue = createClientQueue();
  /** The source that decides without another pod; undefined if the owner decides. */
  const ownSource = (clientKey: string): TokenSource | undefined => {
    if (owners.count() === 1) return alone;
    if (!pods.isConnected()) return share;
    const pod = owners.ownerOf(clientKey);
    if (pod === pods.own) return owned;
    return client.isAway(pod) ? share : undefined;
  };
  const charge = async (clientKey: string, charges: readonly BucketCharge[], step: ChargeStep): Promise<TakeResult> => {
    const own = ownSource(clientKey);
    if (own !== undefined) return from(own, charges, step);
    const pod = owners.ownerOf(clientKey);
    return queue.run(clientKey, () => fromAllocated(pod, charges, step));
  };
  return {
    take: (clientKey, charges) => charge(clientKey, charges, "take"),
    has: (clientKey, charges) => charge(clientKey, charges, "has"),
    takeNow(clientKey, charges, taken) {
      const source = ownSource(clientKey) ?? (queue.isBusy(clientKey) ? undefined : remote);
      if (source?.has(charges) !== true) return undefined;
      for (const one of taken) source.spend(one, one.count);
      return source;
    },
    sourceOf: (clientKey) => ownSource(clientKey) ?? remote,
    async remoteSource(clientKey, charges) {
      const own = ownSource(clientKey);
      if (own !== undefined) return { source: own, isOfOwner: own !== share };
      const isOfOwner = await client.ask(owners.ownerOf(clientKey), charges);
      return { source: isOfOwner ? remote : share, isOfOwner };
    },
    stop: () => client.stop(),
  };
}

interface ClientQueue {
  run(clientKey: string, work: () => Promise<TakeResult>): Promise<TakeResult>;
  /** True while work of the client runs. */
  isBusy(clientKey: string): boolean;
}

/** Runs the work of one client in sequence, so that no other request takes the tokens of an allocation. */
function createClientQueue(): ClientQueue {
  const last = new Map<string, Promise<TakeResult>>();
  return {
    isBusy: (clientKey) => last.has(clientKey),
    async run(clientKey, work) {
      const before = last.get(clientKey);
      const running = before === undefined ? work() : before.then(work);
      last.set(clientKey, running);
      try {
        return await running;
      } finally {
        if (last.get(clientKey) === running) last.delete(clientKey);
      }
    },
  };
}

/** Most remembered owners. Above it, all of them are computed again. */
const ownersMax = 50_000;

/**
 * Follows the live pods. After a change of them, another pod may have owned a bucket before, with an unknown state. The
 * bucket therefore begins with one pod's share at the time of the change.
 */
function followOwners(now: () => number, pods: Pods): BucketOwners {
  let known = pods.live();
  let changed = { atMs: now(), pods: known.length };
  let owners = new Map<string, string>();
  const live = (): readonly string[] => {
    const next = pods.live();
    if (next !== known && next.join() !== known.join()) {
      changed = { atMs: now(), pods: Math.max(known.length, next.length) };
      owners = new Map();
    }
    known = next;
    return next;
  };
  return {
    count: () => live().length,
    ownerOf(key) {
      const names = live();
      if (names.length === 1) return names[0] ?? pods.own;
      const owner = owners.get(key) ?? ownerOf(key, names) ?? pods.own;
      if (owners.size >= ownersMax) owners = new Map();
      owners.set(key, owner);
      return owner;
    },
    begin({ burst }) {
      live();
      return { tokens: burst / changed.pods, atMs: changed.atMs };
    },
  };
}
