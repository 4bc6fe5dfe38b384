import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import { readAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import type { DeliveryContext } from "./delivery-context.ts";
import { readItem, type DeliveryItem } from "../records/delivery-record.ts";
import type { Partner } from "../partners/partner.ts";

/** What is stored about one delivery. */
export interface Past {
  /** Its attempts, in the order in which they were recorded. */
  readonly attempts: readonly AttemptRecord[];
  /** Its live messages: one, or two between the steps of a settlement. */
  readonly live: readonly DeliveryItem[];
}

/**
 * Reads what is stored about a delivery, from the leaders of the streams. The live messages come first: what is gone
 * from there by then has left an attempt.
 *
 * @throws Unanswered when the process must end first
 */
export async function readPast(
  context: DeliveryContext,
  item: DeliveryItem,
  { lanes }: Pick<Partner, "lanes">,
): Promise<Past> {
  const { deliveries, ending: signal } = context;
  const live = await untilAnswered(() => deliveries.live(lanes, item.partner, item.did), { signal });
  const attempts = await untilAnswered(() => readAttempts(context.attempts, item.tenant, item.eventId), { signal });
  return {
    attempts: attempts.filter(({ did }) => did === item.did),
    live: live.map(readItem).filter((other) => other !== undefined),
  };
}
