import type { DeliveryToStore, HeldMessage } from "../../nats/streams/deliveries-stream.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import type { DeliveryContext, Work } from "./delivery-context.ts";
import { isSharedLane, type Partner } from "../partners/partner.ts";
import { isLater, isMoved, deliveryMessage, type DeliveryRecord } from "../records/delivery-record.ts";
import { ensureRetries } from "./partner-consumer.ts";
import { storeStep } from "./store-step.ts";
import { readStoredState } from "./stored-state.ts";

/** The target lane, and the lanes that may hold messages of the delivery. */
type MovePlace = Pick<Partner, "lane" | "lanes" | "label">;

/** Stores a step of a delivery in the place of the held message. */
type Store = (delivery: DeliveryToStore, held: HeldMessage) => Promise<PublishResult>;

/**
 * Moves a message without an attempt from another lane into its partner's lane. Such messages exist because the target
 * of a schedule is fixed while lanes change.
 *
 * @throws Unanswered when the process must end first
 */
export async function moveToLane(context: DeliveryContext, work: Work, partner: Partner): Promise<void> {
  if (!isSharedLane(partner.lane)) await ensureRetries(context, partner);
  await move(context, work, partner, (delivery, held) => context.deliveries.move(delivery, held));
}

/**
 * Republishes a message without an attempt for a later time, so that it takes no place in a shared lane.
 *
 * @param atMs Unix milliseconds by JetStream's clock
 * @throws Unanswered when the process must end first
 */
export async function defer(context: DeliveryContext, work: Work, place: MovePlace, atMs: number): Promise<void> {
  await move(context, work, place, (delivery, held) => context.deliveries.schedule(delivery, held, atMs));
}

/** Republishes the held message with one hop more and acknowledges it. */
async function move(context: DeliveryContext, work: Work, place: MovePlace, store: Store): Promise<void> {
  const { delivery, message } = work;
  await storeStep(context, {
    step: { ...delivery, hop: delivery.hop + 1 },
    heldSeq: message.seq,
    publish: (step, seq) => store(deliveryMessage(step, place.lane, message.data), { subject: message.subject, seq }),
    hasGoneOn: () => isElsewhere(context, delivery, place),
    partner: place.label,
    refusal: "not moved yet",
  });
  work.message.ack();
}

/** Whether the delivery was moved or has gone on. */
async function isElsewhere(context: DeliveryContext, delivery: DeliveryRecord, place: MovePlace): Promise<boolean> {
  const { live, attempts } = await readStoredState(context, delivery, place);
  const isOver = attempts.some((record) => !isLater(delivery, record));
  return isOver || live.some((other) => isLater(other, delivery) || isMoved(other, delivery));
}
