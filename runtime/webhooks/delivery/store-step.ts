import { pause } from "../../../limits/clock.ts";
import { pauseAfter, retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import type { DeliveryContext } from "./delivery-context.ts";

/** A step of a delivery that is to be stored, often in the place of a message that a worker holds. */
interface StepToStore {
  readonly step: DeliveryRecord;
  /** Sequence of the message that is held. @default 0, none is */
  readonly heldSeq?: number;
  /** Publishes the step in the place of the message with this sequence. */
  readonly publish: (step: DeliveryRecord, heldSeq: number) => Promise<PublishResult>;
  /** Whether the delivery has gone on: this step or a later one is stored or was attempted. */
  readonly hasGoneOn: () => Promise<boolean>;
  /** Label of the partner, for the log. */
  readonly partner: string;
  /** Log message of a rejection. */
  readonly warning: string;
}

/**
 * Stores a step of a delivery, or finds that the delivery has gone on.
 *
 * | Answer | Next |
 * |---|---|
 * | stored | done |
 * | rejected | publish again after a pause |
 * | any other, and the delivery has gone on | done; stored by this call if an earlier response was lost |
 * | duplicate | publish under the id of the next hop: the stream drops a used id, and nothing is left of its message |
 * | unexpected | publish with sequence 0: the server lost the held message, and this is the only copy |
 *
 * @returns whether this call stored the step
 * @throws NoReplyError when the process must end first
 */
export async function storeStep(
  { clock, ending: signal, log }: Pick<DeliveryContext, "clock" | "ending" | "log">,
  { step: first, heldSeq = 0, publish, hasGoneOn, partner, warning }: StepToStore,
): Promise<boolean> {
  let step = first;
  let seq = heldSeq;
  for (let tries = 1; ; tries += 1) {
    let publishes = 0;
    const publishOnce = (): Promise<PublishResult> => {
      publishes += 1;
      return publish(step, seq);
    };
    const result = await retryUntilReply(publishOnce, { signal });
    if (result.kind === "stored") return true;
    if (result.kind === "rejected") {
      log.warn({ detail: result.detail, eventId: step.eventId, partner }, warning);
      await pause(clock, pauseAfter(tries), signal);
    } else if (await hasGoneOn()) return publishes > 1;
    else if (result.kind === "duplicate") step = { ...step, hop: step.hop + 1 };
    else seq = 0;
  }
}
