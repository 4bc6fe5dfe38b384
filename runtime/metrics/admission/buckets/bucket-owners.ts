import type { Bucket, Rate } from "../../../bounds/token-bucket.ts";
import { ownerOf } from "../../../pods/owner-of.ts";
import type { Pods } from "../../../pods/pods.ts";

/** Who is the home of whom among the pods. */
export interface BucketOwners {
  /** How many pods are alive. */
  count(): number;
  /** The pod that keeps the buckets of a spender. */
  ownerOf(clientKey: string): string;
  /** What a bucket is that this pod did not keep until now. */
  readonly begin: (rate: Rate) => Bucket;
}

/** Homes that are remembered until they are all worked out again. */
const ownersMax = 50_000;

/**
 * When pods come or go, a bucket may have been kept by another until then, and how full it was is not known: so it
 * begins with one pod's share at the time of the change.
 */
export function followOwners(now: () => number, pods: Pods): BucketOwners {
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
