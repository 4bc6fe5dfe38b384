import { pause } from "../../../limits/clock.ts";
import type { DeadLetterToStore } from "../../nats/streams/dead-letters-stream.ts";
import { type AttemptRecord, attemptRecord } from "../records/attempt-records.ts";
import { deadLetterOf, removedPartnerDeadLetter, type EndedDelivery } from "../records/dead-letter-record.ts";
import type { DeliveryContext, LaneControl, SettledDelivery, Work } from "./delivery-context.ts";
import { deliveryMessage, isLater, nextAttempt, type DeliveryRecord } from "../records/delivery-record.ts";
import { isPing } from "../events/envelope.ts";
import type { Partner, NamedPartner } from "../partners/partner.ts";
import { storeStep } from "./store-step.ts";
import { readStoredState } from "./redelivery.ts";
import type { Settlement } from "../settlement/settle.ts";
import { settlementRow, settlementTable, type DeadLetterState } from "../settlement/settlement-table.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import { eventHash } from "../ids.ts";
import type { FailureOutcome } from "../settlement/outcome.ts";

export type FinalFailure = Exclude<Settlement, { readonly kind: "delivered" | "retry" }>;

const blockedPauseMs = 5_000;

/** A delivery that an attempt has settled, with the event as its producer sent it. */
export interface SettledBody {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly body: Uint8Array;
}

/** A dead letter that is to be stored. */
export interface EndToStore {
  readonly deadLetter: DeadLetterToStore;
  readonly state: DeadLetterState;
  /** Called once if it is new. */
  readonly onNew?: () => void;
}

/** A delivery that ends before its next attempt. */
interface UnsentDelivery {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly body: Uint8Array;
  /** Attempts made before. */
  readonly before: readonly AttemptRecord[];
}

/** Reason of the end. */
export interface UnsentReason {
  readonly reason: "backlog_full" | "held_expired" | "partner_removed";
  /** Sentence for the attempt record. */
  readonly detail: string;
}

/** Pod name in the record: no pod made an attempt, so every pod treats the record as another pod's. */
const noPod = "none";

/**
 * Applies a settlement to JetStream. Each step is repeated until JetStream responds. The message is acknowledged only
 * after the next attempt or the dead letter is stored.
 *
 * @throws NoReplyError when the process must end first; the message is then redelivered, and its worker finds the
 * record
 */
export async function applySettlement(
  context: DeliveryContext,
  work: Work,
  partner: Partner,
  lane: LaneControl,
  settlement: Settlement,
): Promise<void> {
  const { delivery } = work;
  await reportSettled(context, { delivery, partner, settlement }, lane);
  if (settlement.kind === "retry") {
    await lane.prepareRetries();
    await storeNext(context, work, partner, settlement.atMs);
  } else if (settlement.kind !== "delivered") {
    const { attempts } = await readStoredState(context, delivery, partner);
    const ended = endedDelivery(context, { delivery, partner, body: work.message.data }, attempts, settlement);
    if (ended !== undefined) await storeDeadLetter(context, ended, lane);
  }
  // The acknowledgement needs no response: a message that is redelivered finds its record and ends here again.
  work.message.ack();
}

/** Reports a settlement, and marks a partner that a 410 disables. @throws NoReplyError when the process ends */
export async function reportSettled(
  context: DeliveryContext,
  { delivery, partner, settlement }: SettledDelivery & { readonly partner: Partner },
  lane: Pick<LaneControl, "disable">,
): Promise<void> {
  await context.onSettled({ delivery, partner, settlement });
  if (!settlementRow(settlement).disablesPartner) return;
  await context.disabled.mark(partner, context.now(), context.ending);
  lane.disable(partner);
}

/** Stores the next attempt, unless the delivery has gone on. */
function storeNext(context: DeliveryContext, work: Work, partner: Partner, atMs: number): Promise<boolean> {
  const { delivery, message } = work;
  return storeStep(context, {
    step: nextAttempt(delivery),
    heldSeq: message.seq,
    publish: (step, seq) => {
      const { subject, data } = message;
      return context.deliveries.schedule(deliveryMessage(step, partner.lane, data), { subject, seq }, atMs);
    },
    hasGoneOn: () => hasGoneOn(context, partner, delivery),
    partner: partner.label,
    warning: "retry not stored yet",
  });
}

/** Whether a later step is stored or was attempted, or another pod has settled this one. */
async function hasGoneOn(context: DeliveryContext, partner: Partner, delivery: DeliveryRecord): Promise<boolean> {
  const { live, attempts } = await readStoredState(context, delivery, partner);
  const isOthers = ({ pod }: AttemptRecord): boolean => pod !== context.podId;
  return (
    live.some((other) => isLater(other, delivery)) ||
    attempts.some((other) => isLater(other, delivery) || (!isLater(delivery, other) && isOthers(other)))
  );
}

/** The dead letter of a delivery that an attempt has ended; undefined for a ping, which leaves only its record. */
export function endedDelivery(
  context: DeliveryContext,
  { delivery, partner, body }: SettledBody,
  attempts: readonly AttemptRecord[],
  settlement: FinalFailure,
): EndToStore | undefined {
  if (isPing(delivery.type)) return undefined;
  const { reason } = settlement;
  const { deadLetter: state } = settlementTable[settlement.kind];
  const deadLetter = deadLetterOf({ delivery, partner, state, reason, endedAtMs: context.now(), attempts, body });
  const onNew = (): void => context.partnerMetrics.ended(partner.label, delivery, settlement, context.now());
  return { deadLetter, state, onNew };
}

/**
 * Stores a dead letter and retries without limit. While the stream rejects it, the pulls of the partner stop; nothing
 * is sent again.
 *
 * @throws NoReplyError when the process must end first
 */
export async function storeDeadLetter(
  context: DeliveryContext,
  { deadLetter, state, onNew }: EndToStore,
  lane: Pick<LaneControl, "block">,
): Promise<void> {
  const store = () => appendDeadLetter(context, deadLetter, state, onNew);
  let result = await store();
  if (result.kind !== "rejected") return;
  lane.block(true);
  try {
    while (result.kind === "rejected") {
      context.log.error(
        { detail: result.detail, partner: deadLetter.partner },
        "dead letter not stored, partner stopped",
      );
      await pause(context.clock, blockedPauseMs, context.ending);
      result = await store();
    }
  } finally {
    lane.block(false);
  }
}

/**
 * Appends a dead letter until JetStream responds, and counts it if it is new: a repeat by a worker or by another pod
 * finds it stored and counts nothing.
 *
 * @param onNew called once if it is new
 * @throws NoReplyError when the process must end first
 */
export async function appendDeadLetter(
  context: DeliveryContext,
  deadLetter: DeadLetterToStore,
  state: DeadLetterState,
  onNew: () => void = () => undefined,
): Promise<PublishResult> {
  const { ending: signal, metrics } = context;
  let tries = 0;
  const append = (): Promise<PublishResult> => {
    tries += 1;
    return context.deadLetters.append(deadLetter);
  };
  const result = await retryUntilReply(append, { signal });
  if (result.kind === "stored" || (result.kind === "duplicate" && tries > 1 && (await isOwn()))) {
    metrics.deadLetters.inc({ state, reason: deadLetter.reason });
    onNew();
  }
  return result;

  /** Whether an earlier try of this call stored it and only its response was lost. */
  async function isOwn(): Promise<boolean> {
    const { seq } = result as Extract<PublishResult, { kind: "duplicate" }>;
    const stored = await retryUntilReply(() => context.deadLetters.at(seq), { signal });
    return stored !== undefined && Buffer.from(deadLetter.payload).equals(stored.data);
  }
}

/**
 * Ends a delivery as a dead letter without an attempt and records the reason. The dead letter is stored first: a repeat
 * after a crash stores it once, and the record ends the repeats. A ping leaves only the record.
 *
 * @returns the settlement; undefined when the dead letter is rejected and nothing was stored
 * @throws NoReplyError when the process must end first
 */
export async function endUnsent(
  context: DeliveryContext,
  { delivery, partner, body, before }: UnsentDelivery,
  { reason, detail }: UnsentReason,
): Promise<Settlement | undefined> {
  const { ending: signal } = context;
  const endedAtMs = context.now();
  const outcome: FailureOutcome = { kind: "failure", reason, detail, timings: { totalMs: 0 } };
  const settlement: Settlement = { kind: "dead", reason };
  const record = attemptRecord({ delivery, partner, startedAtMs: endedAtMs, outcome, settlement, pod: noPod });
  const ended: EndedDelivery = {
    delivery,
    partner,
    state: "dead",
    reason,
    endedAtMs,
    attempts: [...before, record],
    body,
  };
  const hasDeadLetter = !isPing(delivery.type);
  if (hasDeadLetter) {
    const usual = deadLetterOf(ended);
    const toStore = reason === "partner_removed" ? removedPartnerDeadLetter(usual, ended) : usual;
    const count = (): void => context.partnerMetrics.ended(partner.label, delivery, settlement, endedAtMs);
    const result = await appendDeadLetter(context, toStore, "dead", count);
    if (result.kind === "rejected") return undefined;
  }
  const text = JSON.stringify(record);
  await retryUntilReply(() => context.attempts.append(delivery.tenant, eventHash(delivery.eventId), text), { signal });
  return settlement;
}
