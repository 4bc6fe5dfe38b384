import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import { readAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import { parseDeliveryRecord, type DeliveryRecord } from "../records/delivery-record.ts";
import type { Partner } from "../partners/partner.ts";

/** What is stored about one delivery. */
export interface StoredState {
  /** Its attempts, in the order in which they were recorded. */
  readonly attempts: readonly AttemptRecord[];
  /** Its live messages: one, or two between the steps of a settlement. */
  readonly live: readonly DeliveryRecord[];
}

/**
 * Reads what is stored about a delivery, from the leaders of the streams. The live messages come first: what is gone
 * from there by then has left an attempt.
 *
 * @throws Unanswered when the process must end first
 */
export async function readStoredState(
  context: DeliveryContext,
  delivery: DeliveryRecord,
  { lanes }: Pick<Partner, "lanes">,
): Promise<StoredState> {
  const { deliveries, ending: signal } = context;
  const live = await untilAnswered(() => deliveries.live(lanes, delivery.partner, delivery.did), { signal });
  const attempts = await untilAnswered(() => readAttempts(context.attempts, delivery.tenant, delivery.eventId), {
    signal,
  });
  return {
    attempts: attempts.filter(({ did }) => did === delivery.did),
    live: live.map(parseDeliveryRecord).filter((other) => other !== undefined),
  };
}
