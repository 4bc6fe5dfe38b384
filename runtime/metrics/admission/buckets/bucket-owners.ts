import type { Bucket, Rate } from "../../../bounds/token-bucket.ts";
import { homeOf } from "../../../pods/owner-of.ts";
import type { Peers } from "../../../pods/pods.ts";

/** Who is the home of whom among the pods. */
export interface BucketOwners {
  /** How many pods are alive. */
  count(): number;
  /** The pod that keeps the buckets of a spender. */
  homeOf(owner: string): string;
  /** What a bucket is that this pod did not keep until now. */
  readonly begin: (rate: Rate) => Bucket;
}

/** Homes that are remembered until they are all worked out again. */
const homesMax = 50_000;

/**
 * When pods come or go, a bucket may have been kept by another until then, and how full it was is not known: so it
 * begins with one pod's share at the time of the change.
 */
export function followOwners(now: () => number, peers: Peers): BucketOwners {
  let known = peers.live();
  let changed = { atMs: now(), pods: known.length };
  let homes = new Map<string, string>();
  const live = (): readonly string[] => {
    const next = peers.live();
    if (next !== known && next.join() !== known.join()) {
      changed = { atMs: now(), pods: Math.max(known.length, next.length) };
      homes = new Map();
    }
    known = next;
    return next;
  };
  return {
    count: () => live().length,
    homeOf(owner) {
      const pods = live();
      if (pods.length === 1) return pods[0] ?? peers.own;
      const home = homes.get(owner) ?? homeOf(owner, pods) ?? peers.own;
      if (homes.size >= homesMax) homes = new Map();
      homes.set(owner, home);
      return home;
    },
    begin({ burst }) {
      live();
      return { tokens: burst / changed.pods, atMs: changed.atMs };
    },
  };
}
