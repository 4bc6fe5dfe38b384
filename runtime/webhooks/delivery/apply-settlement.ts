import { pause } from "../../bounds/clock.ts";
import type { DeadLetterToStore } from "../../nats/streams/dead-letters-stream.ts";
import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { deadLetterOf } from "../records/dead-letter-record.ts";
import type { DeliveryContext, LaneControl, Work } from "./delivery-context.ts";
import { deliveryMessage, isLater, nextAttempt, type DeliveryRecord } from "../records/delivery-record.ts";
import { isPing } from "../events/reserved-types.ts";
import type { Partner } from "../partners/partner.ts";
import { storeStep } from "./store-step.ts";
import { readStoredState } from "./stored-state.ts";
import type { Settlement } from "../settlement/settle.ts";
import { settlementRow, settlementTable, type DeadLetterState } from "../settlement/settlement-table.ts";

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
    const { deadLetter } = settlementTable[settlement.kind];
    await storeAsDeadLetter(context, work, partner, lane, deadLetter, settlement.reason);
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
  state: DeadLetterState,
  reason: string,
): Promise<void> {
  const { delivery, message } = work;
  const { attempts } = await readStoredState(context, delivery, partner);
  const body = message.data;
  const ended = deadLetterOf({ delivery, partner, state, reason, endedAtMs: context.now(), attempts, body });
  await storeDeadLetter(context, ended, lane);
  context.metrics.deadLetters.inc({ state, reason });
}

/**
 * Stores a dead letter and retries without limit. While the stream refuses it, the pulls of the partner stop; nothing
 * is sent again.
 *
 * @throws Unanswered when the process must end first
 */
export async function storeDeadLetter(
  context: DeliveryContext,
  deadLetter: DeadLetterToStore,
  lane: Pick<LaneControl, "block">,
): Promise<void> {
  const store = () => untilAnswered(() => context.deadLetters.append(deadLetter), { signal: context.ending });
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
