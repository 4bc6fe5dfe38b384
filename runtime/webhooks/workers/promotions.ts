import type { Bucket } from "../../nats/streams/buckets.ts";

/** Partners with their own lane because they delayed the other partners of a shared lane. */
export type Promotions = ReturnType<typeof createPromotions>;

/** Share of the own lanes that promoted partners may take. */
const promotedShare = 0.25;

/** @param ownLanesMax partners that have their own lane at most */
export function createPromotions(bucket: Bucket, ownLanesMax: number) {
  const promotedMax = Math.ceil(ownLanesMax * promotedShare);
  let keys: ReadonlySet<string> = new Set();
  /** Promotions of this pod that it has not read back yet. */
  const pending = new Set<string>();
  return {
    /** Keys of the promoted partners. */
    get keys() {
      return keys;
    },
    /** Gives the partner its own lane, in every pod within a second; false when too many partners have one. */
    promote: async (key: string) => {
      if (keys.has(key) || pending.has(key)) return true;
      if (keys.size + pending.size >= promotedMax) return false;
      pending.add(key);
      await bucket.put(key, "");
      return true;
    },
    /** Reads the promotions of all pods; true when something changed. */
    poll: async () => {
      const found = await bucket.keys();
      const isChanged = found.length !== keys.size || found.some((key) => !keys.has(key));
      keys = new Set(found);
      found.forEach((key) => pending.delete(key));
      return isChanged;
    },
  };
}
