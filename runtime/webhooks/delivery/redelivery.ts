import { isLater, isMoved, type DeliveryRecord, parseDeliveryRecord } from "../records/delivery-record.ts";
import type { Settlement } from "../settlement/settle.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { eventHash } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import { parseAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import type { DeliveryContext } from "./delivery-context.ts";

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

/** What is stored about one delivery. */
interface StoredState {
  /** Its attempts, in the order in which they were recorded. */
  readonly attempts: readonly AttemptRecord[];
  /** Its live messages: one, or two between the steps of a settlement. */
  readonly live: readonly DeliveryRecord[];
}

/** The streams that hold deliveries and attempts. */
type StateSource = Pick<DeliveryContext, "deliveries" | "attempts" | "ending">;

/** Tokens under which a delivery and its event are stored. */
type DeliveryKey = Pick<DeliveryRecord, "partner" | "did" | "tenant" | "eventId">;

/** Decides about a redelivered message. */
export function decideRedelivery(
  delivery: DeliveryRecord,
  stored: StoredState,
  deliveryCount: number,
): RedeliveryDecision {
  const { attempts, live } = stored;
  const hasGoneOn = attempts.some((record) => isLater(record, delivery));
  if (hasGoneOn || live.some((other) => isLater(other, delivery) || isMoved(other, delivery)))
    return { kind: "superseded" };
  const records = attempts.filter((record) => !isLater(delivery, record));
  const record = records.find(({ settlement }) => settlement.kind === "delivered") ?? records.at(-1);
  if (record !== undefined) return { kind: "apply", settlement: recordedSettlement(record) };
  return deliveryCount > deliveriesWithoutTraceMax ? { kind: "poison" } : { kind: "send" };
}

/**
 * The settlement of an attempt made earlier. It disables no partner: an edit may have enabled it since, and the next
 * attempt shows whether the endpoint still responds with 410.
 */
function recordedSettlement({ settlement }: AttemptRecord): Settlement {
  return settlement.kind === "disabled" ? { ...settlement, kind: "rejected" } : settlement;
}

/** Whether a delivery was moved to another lane or has gone on. @throws NoReplyError as {@link readStoredState} */
export async function isElsewhere(
  source: StateSource,
  delivery: DeliveryRecord,
  lanes: Pick<Partner, "lanes">,
): Promise<boolean> {
  const { live, attempts } = await readStoredState(source, delivery, lanes);
  const isOver = attempts.some((record) => !isLater(delivery, record));
  return isOver || live.some((other) => isLater(other, delivery) || isMoved(other, delivery));
}

/**
 * Reads what is stored about a delivery, from the leaders of the streams.
 *
 * @throws NoReplyError when the process must end first
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
 * @throws NoReplyError when the process must end first
 */
export async function readStoredMessages(
  { deliveries, attempts, ending: signal }: StateSource,
  { partner, did, tenant, eventId }: DeliveryKey,
  { lanes }: Pick<Partner, "lanes">,
): Promise<{ readonly live: readonly DeliveryRecord[]; readonly records: readonly StoredMessage[] }> {
  const live = await retryUntilReply(() => deliveries.live(lanes, partner, did), { signal });
  const records = await retryUntilReply(() => attempts.read(tenant, eventHash(eventId)), { signal });
  return { live: live.map(parseDeliveryRecord).filter((other) => other !== undefined), records };
}
