import type { PendingEnder } from "./end-pending.ts";
import type { Partner } from "../partners/partner.ts";
import { lastAttemptAtMs } from "../settlement/retry-schedule.ts";

interface ExpireHeldDeps {
  readonly partners: () => readonly Partner[];
  readonly ender: PendingEnder;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

/** Time between two looks at what waits for a partner, at least, and as a part of the age at which it ends. */
const lookMs = 60_000;
const lookShare = 0.05;
const secondMs = 1_000;
const detail = "nothing could be sent to the partner until the delivery was too old";

/**
 * Ends deliveries to partners that are held, at the age after which they are never attempted again. Messages are read
 * when the oldest of them is that old, and from time to time. Each call is one turn.
 */
export function createHeldExpiry({ partners, ender, now }: ExpireHeldDeps): () => Promise<void> {
  const nextAtMs = new Map<string, number>();
  const isHeld = (token: string): boolean =>
    partners().some((one) => one.key === token && one.config.held !== undefined);
  return async () => {
    const held = partners().filter(({ config }) => config.held !== undefined);
    for (const token of [...nextAtMs.keys()].filter((one) => !isHeld(one))) {
      nextAtMs.delete(token);
      ender.forget(token);
    }
    for (const partner of held.filter(({ key: token }) => (nextAtMs.get(token) ?? 0) <= now())) {
      const {
        key: token,
        config: { retry },
      } = partner;
      const ageMs = retry.maxAgeSeconds * secondMs;
      const isStill = (): boolean => isHeld(token);
      const atMs = now();
      const progress = await ender.goOn({
        partner,
        reason: "held_expired",
        detail,
        acceptedUpToMs: atMs - ageMs,
        isStill,
      });
      const oldestMs = progress.kind === "done" ? progress.oldestMs : undefined;
      const endMs = lastAttemptAtMs(retry, oldestMs ?? atMs);
      const laterMs = atMs + Math.min(ageMs, Math.max(lookMs, ageMs * lookShare));
      nextAtMs.set(token, progress.kind === "done" ? Math.min(endMs, laterMs) : 0);
    }
  };
}
