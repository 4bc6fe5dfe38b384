import { pendingPlaces } from "../../nats/streams/deliveries-stream.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import { readAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import { unreadableDeadLetter } from "../records/dead-letter-record.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { isLater, nextAttempt, parseDeliveryRecord, type DeliveryRecord } from "../records/delivery-record.ts";
import { endUnsent, type UnsentReason } from "../delivery/end-unsent.ts";
import type { NamedPartner } from "../partners/partner.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

/** Which deliveries of a partner end, and why. */
interface PendingEnd extends UnsentReason {
  readonly partner: NamedPartner;
  /** Accepted at or before this, Unix milliseconds by JetStream's clock. */
  readonly acceptedUpToMs: number;
  /** Whether it is still so; asked before each batch. */
  readonly isStill: () => boolean;
}

/**
 * How far it came.
 *
 * - `more`: the time of the turn is over.
 * - `blocked`: the dead letter stream takes nothing; nothing is lost, the next turn tries again.
 * - `done`: everything was looked at; `oldestMs` is when the oldest of what stays was accepted.
 */
type PendingProgress =
  | { readonly kind: "more" | "blocked" }
  | { readonly kind: "done"; readonly oldestMs: number | undefined };

/** Ends deliveries that wait, without an attempt. */
export interface PendingEnder {
  /** Goes on for at most one turn. @throws Unanswered when the process must end first */
  goOn(end: PendingEnd): Promise<PendingProgress>;
  /** Forgets how far a partner's deliveries were looked at. */
  forget(token: string): void;
}

/** Messages of one batch, and of those that are ended at once. */
const batchMax = 64;
const atOnceMax = 16;
const turnMs = 500;

interface Walk {
  place: number;
  seq: number;
  oldestMs: number | undefined;
  isBlocked: boolean;
}

/**
 * Creates what one pod has while it has the duty; where it stops, the pod after it begins anew, which costs only time.
 */
export function createPendingEnder(context: DeliveryContext): PendingEnder {
  const walks = new Map<string, Walk>();
  const fresh = (isBlocked: boolean): Walk => ({ place: 0, seq: 1, oldestMs: undefined, isBlocked });
  return {
    goOn: async (end) => {
      const { key: token } = end.partner;
      const walk = walks.get(token) ?? fresh(false);
      walks.set(token, walk);
      const endMs = performance.now() + turnMs;
      while (performance.now() < endMs && !context.ending.aborted && end.isStill()) {
        const step = await stepOn(context, end, walk);
        if (step !== "next") {
          if (step === "done") walks.set(token, fresh(walk.isBlocked));
          return step === "done" ? { kind: "done", oldestMs: walk.oldestMs } : { kind: step };
        }
      }
      return { kind: "more" };
    },
    forget: (token) => void walks.delete(token),
  };
}

async function stepOn(context: DeliveryContext, end: PendingEnd, walk: Walk): Promise<"next" | "done" | "blocked"> {
  const place = pendingPlaces[walk.place];
  if (place === undefined) {
    return "done";
  }
  const messages = await context.deliveries.pending(end.partner.key, place, walk.seq, batchMax);
  for (let start = 0; start < messages.length; start += atOnceMax) {
    const some = messages.slice(start, start + atOnceMax);
    const kept = await Promise.all(some.map((message) => endOne(context, end, message)));
    if (kept.includes("refused")) {
      noteBlocked(context, end, walk, true);
      return "blocked";
    }
    walk.oldestMs = kept.reduce<number | undefined>(
      (a, b) => (typeof b === "number" ? Math.min(a ?? b, b) : a),
      walk.oldestMs,
    );
  }
  noteBlocked(context, end, walk, false);
  const last = messages.at(-1);
  walk.seq = last === undefined ? 1 : last.seq + 1;
  walk.place += last === undefined ? 1 : 0;
  return "next";
}

/** One line when the dead letter stream begins to refuse and one when it goes on. */
function noteBlocked({ log }: DeliveryContext, { partner, reason }: PendingEnd, walk: Walk, isBlocked: boolean): void {
  if (walk.isBlocked !== isBlocked) {
    walk.isBlocked = isBlocked;
    const what = isBlocked
      ? "dead letters not stored, deliveries that should end wait"
      : "deliveries end as dead letters again";
    log.error({ partner: partner.label, reason }, what);
  }
}

/** When a message that stays was accepted, in Unix milliseconds; or what became of it. */
async function endOne(
  context: DeliveryContext,
  end: PendingEnd,
  message: StoredMessage,
): Promise<number | "ended" | "refused"> {
  const delivery = parseDeliveryRecord(message);
  if (delivery !== undefined && delivery.acceptedAtMs > end.acceptedUpToMs) {
    return delivery.acceptedAtMs;
  }
  const isKept =
    delivery === undefined
      ? await keepUnreadable(context, end, message)
      : await endDelivery(context, end, delivery, message);
  if (!isKept) {
    return "refused";
  }
  await context.deliveries.remove(message.seq);
  return "ended";
}

/** False when the dead letter is refused. */
async function endDelivery(
  context: DeliveryContext,
  end: PendingEnd,
  delivery: DeliveryRecord,
  { data: body }: StoredMessage,
): Promise<boolean> {
  const { ending: signal } = context;
  const attempts = await untilAnswered(() => readAttempts(context.attempts, delivery.tenant, delivery.eventId), {
    signal,
  });
  const before = attempts.filter(({ did }) => did === delivery.did);
  const since = before.filter((record) => !isLater(delivery, record));
  if (since.some((record) => isOver(record) || isLater(record, delivery))) {
    // It ended or went on; this message is what is left of the step before.
    return true;
  }
  const step = since.length > 0 ? nextAttempt(delivery) : delivery;
  const { partner } = end;
  const settlement = await endUnsent(context, { delivery: step, partner, body, before }, end);
  if (settlement === undefined) {
    return false;
  }
  context.partnerMetrics.ended(partner.label, step, settlement, context.now());
  await context.onSettled({ delivery: step, partner, settlement });
  return true;
}

function isOver({ settlement }: AttemptRecord): boolean {
  return settlementRow(settlement).ends;
}

async function keepUnreadable(
  context: DeliveryContext,
  { partner }: PendingEnd,
  { subject, seq, data }: StoredMessage,
): Promise<boolean> {
  const deadLetter = unreadableDeadLetter(partner.key, subject, seq, data);
  const answer = await untilAnswered(() => context.deadLetters.append(deadLetter), { signal: context.ending });
  return answer.kind !== "refused";
}
