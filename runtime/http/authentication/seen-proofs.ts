import { hash } from "node:crypto";

/** Ids of recent proofs that could still be repeated. */
export interface SeenProofs {
  /** Remembers an id. `full`: the id is not remembered, so its proof must be refused. */
  add(id: string, nowMs: number): "new" | "seen" | "full";
}

/** About 25 MB of memory when both halves are full. */
export const idsPerHalfMax = 131_072;

/** Remembers ids for `lifetimeMs` to twice as long, in two halves. Each lifetime drops the older half. */
export function createSeenProofs(lifetimeMs: number): SeenProofs {
  let newer = new Set<string>();
  let older = new Set<string>();
  let sinceMs = Number.NEGATIVE_INFINITY;
  return {
    add(id, nowMs) {
      if (nowMs - sinceMs >= lifetimeMs) {
        older = nowMs - sinceMs >= 2 * lifetimeMs ? new Set() : newer;
        newer = new Set();
        sinceMs = nowMs;
      }
      // Digests have one size, whatever callers send.
      const key = hash("sha256", id, "base64");
      if (newer.has(key) || older.has(key)) return "seen";
      if (newer.size >= idsPerHalfMax) return "full";
      newer.add(key);
      return "new";
    },
  };
}
