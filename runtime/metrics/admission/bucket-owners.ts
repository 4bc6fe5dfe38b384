import type { Bucket, Rate } from "../../../limits/token-bucket.ts";
import { ownerOf, type Pods } from "../../pods/pods.ts";

/** The owner pods of buckets. */
export interface BucketOwners {
  /** The number of live pods. */
  count(): number;
  /** The pod that owns the buckets of a client. */
  ownerOf(clientKey: string): string;
  /** The first state of a bucket that is new in this pod. */
  readonly begin: (rate: Rate) => Bucket;
}

/** Most remembered owners. Above it, all of them are computed again. */
const ownersMax = 50_000;

/**
 * Follows the live pods. After a change of them, another pod may have owned a bucket before, with an unknown state. The
 * bucket therefore begins with one pod's share at the time of the change.
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
