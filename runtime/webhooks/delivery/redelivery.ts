import { isLater, isMoved, type DeliveryRecord } from "../records/delivery-record.ts";
import type { StoredState } from "./stored-state.ts";
import type { Settlement } from "../settlement/settle.ts";

/**
 * The action for a redelivered message. An earlier worker may have crashed at any stage.
 *
 * - `superseded`: a later step exists. The message is acknowledged.
 * - `apply`: the attempt was made and recorded. Its settlement is applied without a POST.
 * - `send`: no attempt is recorded. The attempt is made.
 * - `poison`: no attempt is recorded and the delivery count exceeds the limit. The message probably crashes its worker.
 */
export type RedeliveryDecision =
  | { readonly kind: "superseded" }
  | { readonly kind: "apply"; readonly settlement: Settlement }
  | { readonly kind: "send" }
  | { readonly kind: "poison" };

/** Largest delivery count of a message without a recorded attempt. */
export const deliveriesWithoutTraceMax = 16;

/** Decides about a redelivered message. */
export function decideRedelivery(
  delivery: DeliveryRecord,
  stored: StoredState,
  deliveryCount: number,
): RedeliveryDecision {
  const { attempts, live } = stored;
  const hasGoneOn = attempts.some((record) => isLater(record, delivery));
  if (hasGoneOn || live.some((other) => isLater(other, delivery) || isMoved(other, delivery))) {
    return { kind: "superseded" };
  }
  const records = attempts.filter((record) => !isLater(delivery, record));
  const record = records.find(({ settlement }) => settlement.kind === "delivered") ?? records.at(-1);
  if (record !== undefined) {
    return { kind: "apply", settlement: record.settlement };
  }
  return deliveryCount > deliveriesWithoutTraceMax ? { kind: "poison" } : { kind: "send" };
}
