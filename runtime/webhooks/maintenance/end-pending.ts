import { pendingPlaces } from "../../nats/streams/deliveries-stream.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import { readAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import { removedPartnerDeadLetter, unreadableDeadLetter } from "../records/dead-letter-record.ts";
import {
  appendDeadLetter,
  endUnsent,
  endedDelivery,
  type EndToStore,
  type FinalFailure,
  type UnsentReason,
} from "../delivery/apply-settlement.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { isLater, nextAttempt, parseDeliveryRecord, type DeliveryRecord } from "../records/delivery-record.ts";
import type { NamedPartner } from "../partners/partner.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

/** The deliveries of a partner that end, and the reason. */
interface PendingEnd extends UnsentReason {
  readonly partner: NamedPartner;
  /** Only deliveries accepted at or before this time end. Unix milliseconds by JetStream's clock. */
  readonly acceptedUpToMs: number;
  /** Only deliveries accepted after this time end. @default all */
  readonly acceptedAfterMs?: number;
  /** True when the reason still applies; checked before each batch. */
  readonly isValid: () => boolean;
}

/**
 * The progress after one run.
 *
 * - `more`: the time of the run is over.
 * - `blocked`: the dead letter stream rejects a message; the next run tries again, and nothing is lost.
 * - `done`: all messages were read; `oldestMs` is the acceptance time of the oldest delivery that stays.
 */
type PendingProgress =
  | { readonly kind: "more" | "blocked" }
  | { readonly kind: "done"; readonly oldestMs: number | undefined };

/** Ends waiting deliveries without an attempt. */
export type PendingEnder = ReturnType<typeof createPendingEnder>;

/** Messages of one read. */
const batchMax = 64;
/** Messages that are ended concurrently. */
const atOnceMax = 16;
const runMsMax = 500;

interface Walk {
  place: number;
  seq: number;
  oldestMs: number | undefined;
  isBlocked: boolean;
}

/** Creates the ender of a leader pod. The next leader starts from the first message again, which costs only time. */
export function createPendingEnder(context: DeliveryContext, isLeader: () => boolean) {
  const walks = new Map<string, Walk>();
  const fresh = (isBlocked: boolean): Walk => ({ place: 0, seq: 1, oldestMs: undefined, isBlocked });
  return {
    /** Works for the time of one run at most. @throws NoReplyError when the process must end first */
    run: async (given: PendingEnd): Promise<PendingProgress> => {
      const end = { ...given, isValid: () => isLeader() && given.isValid() };
      const { key } = end.partner;
      const walk = walks.get(key) ?? fresh(false);
      walks.set(key, walk);
      const endMs = performance.now() + runMsMax;
      while (performance.now() < endMs && !context.ending.aborted && end.isValid()) {
        const step = await readBatch(context, end, walk);
        if (step !== "next") {
          if (step === "done") walks.set(key, fresh(walk.isBlocked));
          return step === "done" ? { kind: "done", oldestMs: walk.oldestMs } : { kind: step };
        }
      }
      return { kind: "more" };
    },
    /** Discards the position in the messages of the partner with this key. */
    forget: (key: string) => void walks.delete(key),
  };
}

async function readBatch(context: DeliveryContext, end: PendingEnd, walk: Walk): Promise<"next" | "done" | "blocked"> {
  const place = pendingPlaces[walk.place];
  if (place === undefined) return "done";
  const messages = await context.deliveries.pending(end.partner.key, place, walk.seq, batchMax);
  for (let start = 0; start < messages.length; start += atOnceMax) {
    const some = messages.slice(start, start + atOnceMax);
    const results = await Promise.all(some.map((message) => endOne(context, end, message)));
    if (results.includes("refused")) {
      logBlocked(context, end, walk, true);
      return "blocked";
    }
    walk.oldestMs = results.reduce<number | undefined>(
      (a, b) => (typeof b === "number" ? Math.min(a ?? b, b) : a),
      walk.oldestMs,
    );
  }
  logBlocked(context, end, walk, false);
  const last = messages.at(-1);
  walk.seq = last === undefined ? 1 : last.seq + 1;
  walk.place += last === undefined ? 1 : 0;
  return "next";
}

/** Logs when the dead letter stream begins to reject messages, and when it stores them again. */
function logBlocked({ log }: DeliveryContext, { partner, reason }: PendingEnd, walk: Walk, isBlocked: boolean): void {
  if (walk.isBlocked !== isBlocked) {
    walk.isBlocked = isBlocked;
    const what = isBlocked
      ? "dead letters not stored, deliveries that should end wait"
      : "deliveries end as dead letters again";
    log.error({ partner: partner.label, reason }, what);
  }
}

/** Ends one delivery. Resolves with the acceptance time of one that is too young to end, in Unix milliseconds. */
async function endOne(
  context: DeliveryContext,
  end: PendingEnd,
  message: StoredMessage,
): Promise<number | "ended" | "kept" | "refused"> {
  const delivery = parseDeliveryRecord(message);
  if (delivery !== undefined && delivery.acceptedAtMs > end.acceptedUpToMs) return delivery.acceptedAtMs;
  if (delivery !== undefined && delivery.acceptedAtMs <= (end.acceptedAfterMs ?? Number.NEGATIVE_INFINITY))
    return "kept";
  const result =
    delivery === undefined
      ? await storeUnreadable(context, end, message)
      : await endDelivery(context, end, delivery, message);
  if (result === "ended") await context.deliveries.remove(message.seq);
  return result;
}

/** `refused`: the dead letter is rejected; `kept`: this pod may not end the delivery any more. */
async function endDelivery(
  context: DeliveryContext,
  end: PendingEnd,
  delivery: DeliveryRecord,
  { data: body }: StoredMessage,
): Promise<"ended" | "kept" | "refused"> {
  const { ending: signal } = context;
  const attempts = await retryUntilReply(() => readAttempts(context.attempts, delivery.tenant, delivery.eventId), {
    signal,
  });
  const before = attempts.filter(({ did }) => did === delivery.did);
  const since = before.filter((record) => !isLater(delivery, record));
  const over = since.find(isOver);
  // The delivery succeeded or has a later step; this message is a leftover of an earlier one.
  if (over?.settlement.kind === "delivered" || since.some((record) => isLater(record, delivery))) return "ended";
  // Another pod may have made the attempt while this process stood still.
  if (!end.isValid()) return "kept";
  const { partner } = end;
  // A worker that ended early, or whose partner may not be sent to since, has not settled its attempt.
  if (over !== undefined) {
    const ended = endedDelivery(context, { delivery, partner, body }, before, over.settlement as FinalFailure);
    return ended === undefined || (await storeMissing(context, end, delivery, ended)) ? "ended" : "refused";
  }
  const step = since.length > 0 ? nextAttempt(delivery) : delivery;
  const settlement = await endUnsent(context, { delivery: step, partner, body, before }, end);
  if (settlement === undefined) return "refused";
  await context.onSettled({ delivery: step, partner, settlement });
  return "ended";
}

/** Stores the dead letter of a recorded attempt unless there is one. Returns false while it is rejected. */
async function storeMissing(
  context: DeliveryContext,
  { partner, reason }: PendingEnd,
  delivery: DeliveryRecord,
  { deadLetter: usual, state, onNew }: EndToStore,
): Promise<boolean> {
  const deadLetter = reason === "partner_removed" ? removedPartnerDeadLetter(usual, { delivery, partner }) : usual;
  const { partner: key, did } = deadLetter;
  const stored = await retryUntilReply(() => context.deadLetters.of(key, did), { signal: context.ending });
  return stored.length > 0 || (await appendDeadLetter(context, deadLetter, state, onNew)).kind !== "rejected";
}

function isOver({ settlement }: AttemptRecord): boolean {
  return settlementRow(settlement).ends;
}

async function storeUnreadable(
  context: DeliveryContext,
  { partner }: PendingEnd,
  { subject, seq, data }: StoredMessage,
): Promise<"ended" | "refused"> {
  const deadLetter = unreadableDeadLetter(partner.key, subject, seq, data);
  const result = await appendDeadLetter(context, deadLetter, "dead");
  return result.kind === "rejected" ? "refused" : "ended";
}
