import { limitedClient } from "../catalog.ts";
import type { Reply } from "../ask.ts";

/** Counts what one client is granted, and holds it against its quota over all pods. */
interface QuotaWatch {
  add(reply: Pick<Reply, "status" | "headers" | "receivedMs">): void;
  /** @param resets times at which buckets may have begun anew: pods that came or went, NATS that was away */
  faults(resets: number): readonly string[];
  counts(): { readonly granted: number; readonly refused: number };
}

/** A share of what was granted may be in flight between pods at any time. Source: decision 0102. */
const tolerance = 1.1;

export function createQuotaWatch(): QuotaWatch {
  let [granted, refused, firstMs, lastMs] = [0, 0, 0, 0];
  const faults: string[] = [];
  return {
    add({ status, headers, receivedMs }) {
      firstMs ||= receivedMs;
      lastMs = receivedMs;
      if (status !== 429) {
        granted += 1;
        return;
      }
      refused += 1;
      const missing = ["retry-after", "x-ratelimit-remaining"].filter((name) => headers[name] === undefined);
      if (missing.length > 0 && faults.length === 0) faults.push(`429 without ${missing.join()}`);
    },
    faults(resets) {
      const { requestsPerSecond, burst } = limitedClient;
      const most = (requestsPerSecond * ((lastMs - firstMs) / 1_000) + burst * (1 + resets)) * tolerance;
      return granted <= most
        ? faults
        : [...faults, `${granted} requests of the limited client were granted, and its quota is ${Math.floor(most)}`];
    },
    counts: () => ({ granted, refused }),
  };
}
