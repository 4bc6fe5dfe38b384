import type { PendingEnder } from "./end-pending.ts";
import type { Partner } from "../partners/partner.ts";
import { lastAttemptAtMs } from "../settlement/retry-schedule.ts";

interface ExpireHeldDeps {
  readonly partners: () => readonly Partner[];
  readonly ender: PendingEnder;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

/** Minimum time between two walks over the messages of a partner. */
const walkMs = 60_000;
/** The same as a share of the maximum age. */
const walkShare = 0.05;
const secondMs = 1_000;
const detail = "nothing could be sent to the partner until the delivery was too old";

/**
 * Ends deliveries to held partners at their maximum age. The messages of a partner are read when the oldest has this
 * age, and periodically.
 *
 * @returns a function for one run
 */
export function createHeldExpiry({ partners, ender, now }: ExpireHeldDeps): () => Promise<void> {
  const nextAtMs = new Map<string, number>();
  const isHeld = (key: string): boolean => partners().some((one) => one.key === key && one.config.held !== undefined);
  return async () => {
    const held = partners().filter(({ config }) => config.held !== undefined);
    for (const key of [...nextAtMs.keys()].filter((one) => !isHeld(one))) {
      nextAtMs.delete(key);
      ender.forget(key);
    }
    for (const partner of held.filter(({ key }) => (nextAtMs.get(key) ?? 0) <= now())) {
      const { key } = partner;
      const { retry } = partner.config;
      const ageMs = retry.maxAgeSeconds * secondMs;
      const atMs = now();
      const progress = await ender.run({
        partner,
        reason: "held_expired",
        detail,
        acceptedUpToMs: atMs - ageMs,
        isValid: () => isHeld(key),
      });
      const oldestMs = progress.kind === "done" ? progress.oldestMs : undefined;
      const endMs = lastAttemptAtMs(retry, oldestMs ?? atMs);
      const laterMs = atMs + Math.min(ageMs, Math.max(walkMs, ageMs * walkShare));
      nextAtMs.set(key, progress.kind === "done" ? Math.min(endMs, laterMs) : 0);
    }
  };
}
