import type { DeliveryWait } from "../../../api/histories.ts";
import type { DisabledMark, DisabledPartners } from "../partners/partner-holds.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import type { OpenBreaker } from "../settlement/circuit-breaker.ts";
import type { Settlement } from "../settlement/settle.ts";

/** Finds what keeps all deliveries of a partner waiting; undefined for nothing. @throws NoReplyError */
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
    const { held, heldBy, state, waitsSinceMs, waitsLonger } = partner.config;
    const since = {
      since: waitsSinceMs === undefined ? null : iso(waitsSinceMs),
      ...(waitsLonger === true ? { since_at_latest: true as const } : {}),
    };
    if (held !== undefined)
      return { kind: "held", reason: heldBy === undefined ? held : `${held}: ${heldBy}`, ...since, until: null };
    if (state === "Paused") return { kind: "paused", reason: null, ...since, until: null };
    const [mark, pause] = await Promise.all([disabled.find(partner), holds.read(partner)]);
    if (mark !== undefined) return disabledBlock(mark);
    if (!maySendTo(partner, now()))
      return { kind: "keyless", reason: "no signing key is valid", since: keysEnd(partner), until: null };
    return pause === undefined ? undefined : blockOf(pause, now());
  };
}

/** What a 410 keeps waiting. */
export function disabledBlock({ at }: Pick<DisabledMark, "at">): DeliveryWait {
  return { kind: "disabled", reason: goneReason, since: at, until: null };
}

/** Lifetime of what lists know of a partner, and the number of partners that they know it of. */
const cachedMs = 1_000;
const cachedMax = 4_096;

/** The same for lists: a partner is looked up once a second, however many of its deliveries they show. */
export function createCachedBlock(findBlock: FindBlock): FindBlock {
  const known = new Map<string, { readonly block: ReturnType<FindBlock>; readonly endsAtMs: number }>();
  return (partner) => {
    const nowMs = performance.now();
    const last = known.get(partner.fingerprint);
    if (last !== undefined && last.endsAtMs > nowMs) return last.block;
    if (known.size >= cachedMax) known.clear();
    const block = findBlock(partner);
    known.set(partner.fingerprint, { block, endsAtMs: nowMs + cachedMs });
    block.catch(() => known.delete(partner.fingerprint));
    return block;
  };
}

/** End of the last key; null without keys, and when one of them never ends. */
function keysEnd({ config }: Partner): string | null {
  const ends = config.signing.keys.map(({ notAfterMs = Number.POSITIVE_INFINITY }) => notAfterMs);
  const last = Math.max(...ends);
  return Number.isFinite(last) ? iso(last) : null;
}

function blockOf({ cause, sinceMs, untilMs, failures }: OpenBreaker, nowMs: number): DeliveryWait {
  const times = { since: iso(sinceMs), until: untilMs > nowMs ? iso(untilMs) : null };
  return cause === "rate_limited"
    ? { kind: "rate_limited", reason: "Retry-After", ...times }
    : { kind: "circuit_open", reason: `${failures} consecutive failures`, ...times };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
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
  if (state === "held") return block ?? { kind: "held", reason, since: null, until: null };
  return state === "in_delivery" ? (block ?? ownWait(standing, last)) : null;
}

/** The wait of a delivery whose partner gets deliveries. */
function ownWait({ reason, next_attempt_at: nextAt }: Standing, { at, settlement }: LastAttempt): DeliveryWait {
  if (nextAt !== null) return { kind: "retry", reason, since: at ?? null, until: nextAt };
  const isDue = reason !== null && settlement?.kind === "retry";
  return { kind: "turn", reason, since: isDue ? iso(settlement.atMs) : null, until: null };
}
