import type { DisabledPartners } from "../partners/disabled-partners.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import type { OpenBreaker } from "../settlement/circuit-breaker.ts";
import type { Settlement } from "../settlement/settle.ts";

/** Why a delivery waits. `retry`: for its next attempt. `turn`: for a place, or it is in work. */
export const waitKinds = [
  "held",
  "paused",
  "disabled",
  "keyless",
  "circuit_open",
  "rate_limited",
  "retry",
  "turn",
] as const;

export interface DeliveryWait {
  readonly kind: (typeof waitKinds)[number];
  /** What is missing, or the code of the last failure; null when the kind says everything. */
  readonly reason: string | null;
  /** ISO 8601 UTC; null when the time is unknown. */
  readonly since: string | null;
}

/** Finds what keeps all deliveries of a partner waiting; undefined for nothing. @throws Unanswered */
export type FindBlock = (partner: Partner) => Promise<DeliveryWait | undefined>;

interface BlockDeps {
  readonly disabled: Pick<DisabledPartners, "find">;
  readonly holds: { readonly read: (partner: Partner) => Promise<OpenBreaker | undefined> };
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

const goneReason = "status_410";

/** Reads the configuration of this pod and the marks of all pods. */
export function createFindBlock({ disabled, holds, now }: BlockDeps): FindBlock {
  return async (partner) => {
    const { held, heldBy, state } = partner.config;
    if (held !== undefined)
      return { kind: "held", reason: heldBy === undefined ? held : `${held}: ${heldBy}`, since: null };
    if (state === "Paused") return { kind: "paused", reason: null, since: null };
    const [mark, pause] = await Promise.all([disabled.find(partner), holds.read(partner)]);
    if (mark !== undefined) return { kind: "disabled", reason: goneReason, since: mark.at };
    if (!maySendTo(partner, now())) return { kind: "keyless", reason: "no signing key is valid", since: null };
    return pause === undefined ? undefined : blockOf(pause);
  };
}

function blockOf({ cause, sinceMs, failures }: OpenBreaker): DeliveryWait {
  const since = new Date(sinceMs).toISOString();
  return cause === "rate_limited"
    ? { kind: "rate_limited", reason: "Retry-After", since }
    : { kind: "circuit_open", reason: `${failures} failures in a row`, since };
}

interface Standing {
  readonly state: string;
  readonly reason: string | null;
  readonly next_attempt_at: string | null;
}

interface LastAttempt {
  readonly at: string | undefined;
  readonly settlement: Settlement | undefined;
}

/** Why a delivery waits: what keeps its partner waiting comes first. Null for one that has ended. */
export function waitOf(
  standing: Standing,
  live: { readonly held?: string; readonly block?: DeliveryWait } | undefined,
  last: LastAttempt,
): DeliveryWait | null {
  const { state, reason } = standing;
  const block = live?.block;
  if (state === "held") return block ?? { kind: "held", reason, since: null };
  return state === "in_delivery" ? (block ?? ownWait(standing, last)) : null;
}

/** The wait of a delivery whose partner gets deliveries. */
function ownWait({ reason, next_attempt_at: nextAt }: Standing, { at, settlement }: LastAttempt): DeliveryWait {
  if (nextAt !== null) return { kind: "retry", reason, since: at ?? null };
  const isDue = reason !== null && settlement?.kind === "retry";
  return { kind: "turn", reason, since: isDue ? new Date(settlement.atMs).toISOString() : null };
}
