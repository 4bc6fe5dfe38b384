import type { Bucket } from "../../nats/streams/buckets.ts";

/** Partners that got a lane of their own because they hold up those they share one with. */
export interface Promotions {
  readonly tokens: ReadonlySet<string>;
  /** Gives the partner a lane of its own, on every pod within a second; false when too many have one. */
  promote(token: string): Promise<boolean>;
  /** Reads what other pods found; true when something changed. */
  look(): Promise<boolean>;
}

/** @param promotedMax lanes that may be given away like this */
export function createPromotions(bucket: Bucket, promotedMax: number): Promotions {
  let tokens: ReadonlySet<string> = new Set();
  /** Given here, and not read back yet. */
  const given = new Set<string>();
  return {
    get tokens() {
      return tokens;
    },
    promote: async (token) => {
      if (tokens.has(token) || given.has(token)) {
        return true;
      }
      if (tokens.size + given.size >= promotedMax) {
        return false;
      }
      given.add(token);
      await bucket.put(token, "");
      return true;
    },
    look: async () => {
      const found = await bucket.keys();
      const isOther = found.length !== tokens.size || found.some((token) => !tokens.has(token));
      tokens = new Set(found);
      found.forEach((token) => given.delete(token));
      return isOther;
    },
  };
}
