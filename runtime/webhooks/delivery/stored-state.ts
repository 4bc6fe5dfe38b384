import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { eventHash } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import { parseAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import { parseDeliveryRecord, type DeliveryRecord } from "../records/delivery-record.ts";
import type { DeliveryContext } from "./delivery-context.ts";

/** What is stored about one delivery. */
export interface StoredState {
  /** Its attempts, in the order in which they were recorded. */
  readonly attempts: readonly AttemptRecord[];
  /** Its live messages: one, or two between the steps of a settlement. */
  readonly live: readonly DeliveryRecord[];
}

/** The streams that hold deliveries and attempts. */
type StateSource = Pick<DeliveryContext, "deliveries" | "attempts" | "ending">;

/** Tokens under which a delivery and its event are stored. */
type DeliveryKey = Pick<DeliveryRecord, "partner" | "did" | "tenant" | "eventId">;

/**
 * Reads what is stored about a delivery, from the leaders of the streams.
 *
 * @throws Unanswered when the process must end first
 */
export async function readStoredState(
  source: StateSource,
  key: DeliveryKey,
  lanes: Pick<Partner, "lanes">,
): Promise<StoredState> {
  const { live, records } = await readStoredMessages(source, key, lanes);
  return { live, attempts: parseAttempts(records).filter(({ did }) => did === key.did) };
}

/**
 * Reads the live messages of a delivery and all records of its event, of every partner. The leaders of the streams
 * answer. The live messages come first: a message that is gone by then has left an attempt.
 *
 * @throws Unanswered when the process must end first
 */
export async function readStoredMessages(
  { deliveries, attempts, ending: signal }: StateSource,
  { partner, did, tenant, eventId }: DeliveryKey,
  { lanes }: Pick<Partner, "lanes">,
): Promise<{ readonly live: readonly DeliveryRecord[]; readonly records: readonly StoredMessage[] }> {
  const live = await untilAnswered(() => deliveries.live(lanes, partner, did), { signal });
  const records = await untilAnswered(() => attempts.read(tenant, eventHash(eventId)), { signal });
  return { live: live.map(parseDeliveryRecord).filter((other) => other !== undefined), records };
}
