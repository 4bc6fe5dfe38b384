import type { MarkedEntry } from "../../nats/streams/buckets.ts";
import { earlierLeaseMs, namesPartner } from "./heartbeats.ts";

/** Age of a heartbeat below which its pod may still begin attempts: twice that of a pod that counts as gone. */
const livelyMs = 2 * earlierLeaseMs;
/** Above the longest attempt. */
const keptMs = 120_000;

/** What other pods may have under way, by their last heartbeats and by the markers of pods that left. */
export class OtherPods {
  readonly #last = new Map<string, MarkedEntry>();

  /** Takes what was read, by JetStream's clock. A replica that lags behind returns earlier heartbeats. */
  meet(entries: readonly MarkedEntry[], nowMs: number): void {
    for (const entry of entries) {
      if (entry.revision > (this.#last.get(entry.key)?.revision ?? 0)) this.#last.set(entry.key, entry);
    }
    for (const [key, { storedAtMs }] of this.#last) {
      if (nowMs - storedAtMs > keptMs) this.#last.delete(key);
    }
  }

  /**
   * Milliseconds until all attempts to a partner have ended that other pods may have under way; 0 for none.
   *
   * @param endMs time after its last heartbeat at which all attempts of a pod have ended
   * @param ownedSince revision of this pod's heartbeat since which it owns the lane. A pod that sent a later one has
   *   learned of this pod, so it begins no attempts that its heartbeat does not name
   */
  endMs(partner: string, endMs: number, nowMs: number, ownedSince: number): number {
    const ends = this.#last.values().map((last) => {
      const isNewer = last.isRemoved || last.revision > ownedSince;
      const isEnded = isNewer && namesPartner(last, partner) === false;
      const ageMs = nowMs - last.storedAtMs;
      // A live pod learns of this one with its next heartbeat.
      return isEnded ? 0 : ageMs < livelyMs ? endMs : Math.max(0, endMs - ageMs);
    });
    return Math.max(0, ...ends);
  }
}
