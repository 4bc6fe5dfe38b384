import { isLater, isMoved, type DeliveryRecord } from "../records/delivery-record.ts";
import type { StoredState } from "./stored-state.ts";
import type { Settlement } from "../settlement/settle.ts";

/**
 * How to go on with a message that was handed out before, perhaps to a process that died over it.
 *
 * - `superseded`: a later step exists, this message is a leftover: acknowledge it.
 * - `carry_out`: the attempt was made and recorded: carry its settlement out, without a POST.
 * - `send`: no trace of an attempt: make it.
 * - `poison`: no trace either, but too often: whoever takes it dies.
 */
export type RedeliveryDecision =
  | { readonly kind: "superseded" }
  | { readonly kind: "carry_out"; readonly settlement: Settlement }
  | { readonly kind: "send" }
  | { readonly kind: "poison" };

/** Times that a message may be handed out without leaving a trace. */
export const deliveriesWithoutTraceMax = 16;

/** Decides how to go on. Source: design §4 ("Crash path"). */
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
    return { kind: "carry_out", settlement: record.settlement };
  }
  return deliveryCount > deliveriesWithoutTraceMax ? { kind: "poison" } : { kind: "send" };
}
