import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import type { DirectSource, Work } from "../delivery/delivery-context.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";

/** An attempt straight from an event. */
export interface DirectWork extends Work {
  readonly isDirect: true;
  /** True once the event is delivered. */
  isDelivered: boolean;
}

const noCheck = { isRequired: false, require: () => undefined, report: () => undefined };
/** Below all sequences of the stream. */
let lastSeq = 0;

/**
 * Creates the work of a delivery that is not stored. Its message is that of the event, which the router acknowledges.
 */
export function createDirectWork(
  delivery: DeliveryRecord,
  { data, isHeld }: DirectSource,
  sinceMs: number,
): DirectWork {
  lastSeq -= 1;
  const message: PulledMessage = {
    subject: "",
    seq: lastSeq,
    deliveryCount: 1,
    waiting: 0,
    storedAtMs: delivery.acceptedAtMs,
    headers: {},
    data,
    isHeld,
    ack: () => {
      work.isDelivered = true;
    },
    working: () => undefined,
    release: () => undefined,
  };
  const work: DirectWork = { delivery, redeliveryCheck: noCheck, message, sinceMs, isDirect: true, isDelivered: false };
  return work;
}
