import { pause } from "../../../limits/clock.ts";
import type { DeadLetterToStore } from "../../nats/streams/dead-letters-stream.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { deadLetterOf } from "../records/dead-letter-record.ts";
import { appendDeadLetter } from "./append-dead-letter.ts";
import type { DeliveryContext, LaneControl, Work } from "./delivery-context.ts";
import { deliveryMessage, isLater, nextAttempt, type DeliveryRecord } from "../records/delivery-record.ts";
import { isPing } from "../events/reserved-types.ts";
import type { Partner } from "../partners/partner.ts";
import { storeStep } from "./store-step.ts";
import { readStoredState } from "./stored-state.ts";
import type { Settlement } from "../settlement/settle.ts";
import { settlementRow, settlementTable, type DeadLetterState } from "../settlement/settlement-table.ts";

type FinalFailure = Exclude<Settlement, { readonly kind: "delivered" | "retry" }>;

const blockedPauseMs = 5_000;

/**
 * Applies a settlement to JetStream. Each step is repeated until JetStream answers. The message is acknowledged only
 * after the next attempt or the dead letter is stored.
 *
 * @throws Unanswered when the process must end first; the message is then redelivered, and its worker finds the record
 */
export async function applySettlement(
  context: DeliveryContext,
  work: Work,
  partner: Partner,
  lane: LaneControl,
  settlement: Settlement,
): Promise<void> {
  const { delivery } = work;
  await context.onSettled({ delivery, partner, settlement });
  if (settlementRow(settlement).disablesPartner) {
    await context.disabled.mark(partner, context.now(), context.ending);
    lane.disable(partner);
  }
  if (settlement.kind === "retry") {
    await lane.prepareRetries();
    await storeNext(context, work, partner, settlement.atMs);
  } else if (settlement.kind !== "delivered" && !isPing(delivery.type)) {
    await storeAsDeadLetter(context, work, partner, lane, settlement);
  }
  if (settlement.kind !== "delivered") context.onStage("passed_on", delivery.eventId);
  // The acknowledgement needs no answer: a message that is redelivered finds its record and ends here again.
  work.message.ack();
  context.onStage("acknowledged", delivery.eventId);
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
    refusal: "retry not stored yet",
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

async function storeAsDeadLetter(
  context: DeliveryContext,
  work: Work,
  partner: Partner,
  lane: LaneControl,
  settlement: FinalFailure,
): Promise<void> {
  const { delivery, message } = work;
  const { reason } = settlement;
  const { deadLetter: state } = settlementTable[settlement.kind];
  const { attempts } = await readStoredState(context, delivery, partner);
  const body = message.data;
  const ended = deadLetterOf({ delivery, partner, state, reason, endedAtMs: context.now(), attempts, body });
  await storeDeadLetter(context, { deadLetter: ended, state }, lane, () =>
    context.partnerMetrics.ended(partner.label, delivery, settlement, context.now()),
  );
}

/**
 * Stores a dead letter and retries without limit. While the stream refuses it, the pulls of the partner stop; nothing
 * is sent again.
 *
 * @param onNew called once if it is new
 * @throws Unanswered when the process must end first
 */
export async function storeDeadLetter(
  context: DeliveryContext,
  { deadLetter, state }: { readonly deadLetter: DeadLetterToStore; readonly state: DeadLetterState },
  lane: Pick<LaneControl, "block">,
  onNew?: () => void,
): Promise<void> {
  const store = () => appendDeadLetter(context, deadLetter, state, onNew);
  let answer = await store();
  if (answer.kind !== "refused") {
    return;
  }
  lane.block(true);
  try {
    while (answer.kind === "refused") {
      context.log.error(
        { detail: answer.detail, partner: deadLetter.partner },
        "dead letter not stored, partner stopped",
      );
      await pause(context.clock, blockedPauseMs, context.ending);
      answer = await store();
    }
  } finally {
    lane.block(false);
  }
}
