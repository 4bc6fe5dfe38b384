import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import type { Work } from "../delivery/delivery-context.ts";
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

/** Creates the work of a delivery that is not stored. Nothing holds its message, so only the acknowledgement counts. */
export function createDirectWork(delivery: DeliveryRecord, data: Uint8Array, sinceMs: number): DirectWork {
  lastSeq -= 1;
  const message: PulledMessage = {
    subject: "",
    seq: lastSeq,
    deliveryCount: 1,
    waiting: 0,
    storedAtMs: delivery.acceptedAtMs,
    headers: {},
    data,
    ack: () => {
      work.isDelivered = true;
    },
    working: () => undefined,
    release: () => undefined,
  };
  const work: DirectWork = { delivery, redeliveryCheck: noCheck, message, sinceMs, isDirect: true, isDelivered: false };
  return work;
}
