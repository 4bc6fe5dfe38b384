import type { DeadLettersStream, DeadLetterToStore } from "../../nats/streams/dead-letters-stream.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { AttemptRecord } from "./attempt-records.ts";
import type { DeliveryRecord } from "./delivery-record.ts";
import { deliveryId, eventHash, messageId, partnerKey } from "../ids.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";
import type { DeadLetterState } from "../settlement/settlement-table.ts";

/** What is kept of a delivery that ended without success. The body is the event as received, in base64. */
export interface DeadLetter extends DeliveryRecord {
  readonly state: DeadLetterState;
  /** Code of the outcome that ended it; the last token of the subject. */
  readonly reason: string;
  readonly partnerName: { readonly uid: string; readonly namespace: string; readonly name: string };
  /** ISO 8601 UTC by JetStream's clock. */
  readonly endedAt: string;
  /** The last attempts of this delivery. */
  readonly attempts: readonly AttemptRecord[];
  readonly body: string;
}

/** A delivery that ended. */
export interface EndedDelivery {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly state: DeadLetterState;
  readonly reason: string;
  readonly endedAtMs: number;
  /** Attempts of this delivery. */
  readonly attempts: readonly AttemptRecord[];
  readonly body: Uint8Array;
}

/** With the largest event and answers this stays below the 1 MiB that NATS takes in one message. */
const attemptsMax = 64;

/**
 * The message of a dead letter. Its id is that of the attempt that ended the delivery, with `dlq:` in front, so that a
 * repeat after a crash is stored once.
 */
export function deadLetterOf(ended: EndedDelivery): DeadLetterToStore {
  const { delivery, partner, state, reason, endedAtMs, attempts, body } = ended;
  const { uid, namespace, name, deadLetterSeconds: retainSeconds } = partner.config;
  const deadLetter: DeadLetter = {
    ...delivery,
    state,
    reason,
    partnerName: { uid, namespace, name },
    endedAt: new Date(endedAtMs).toISOString(),
    attempts: attempts.slice(-attemptsMax),
    body: Buffer.from(body).toString("base64"),
  };
  const { partner: token, did } = delivery;
  const kept = retainSeconds === undefined ? {} : { retainSeconds };
  return {
    partner: token,
    reason,
    did,
    messageId: `dlq:${messageId(delivery)}`,
    payload: JSON.stringify(deadLetter),
    ...kept,
  };
}

/**
 * The message of a dead letter of a partner that is configured no more. It is kept under the partner's name, so that
 * the next partner of that name finds it, whatever its uid is.
 */
export function removedPartnerDeadLetter(ended: EndedDelivery): DeadLetterToStore {
  const {
    delivery: { tenant, eventId },
    partner: { label },
  } = ended;
  return { ...deadLetterOf(ended), partner: partnerKey(label), did: deliveryId(tenant, eventId, label) };
}

/** Under which tokens the letters of a partner of this name are: its own, and that of those before it. */
export function letterTokens({ key: token, label }: Pick<Partner, "key" | "label">): readonly string[] {
  return [token, partnerKey(label)];
}

/**
 * Letters of several tokens in order, from a sequence on, at most `countMax`. Fewer does not mean that there are no
 * more; none does.
 */
export async function readDeadLetters(
  stream: DeadLettersStream,
  tokens: readonly string[],
  { reason, fromSeq, countMax }: { readonly reason: string; readonly fromSeq: number; readonly countMax: number },
): Promise<readonly StoredMessage[]> {
  const lists = await Promise.all(tokens.map((token) => stream.list(token, reason, fromSeq, countMax)));
  // A list may end early: beyond the last letter of any list the others do not tell the order.
  const lastSeq = Math.min(...lists.flatMap((list) => list.at(-1)?.seq ?? []));
  const known = lists.flat().filter(({ seq }) => seq <= lastSeq);
  return known.toSorted((a, b) => a.seq - b.seq).slice(0, countMax);
}

/** The newest letter of each reason of one delivery, or of the same event's to a partner of the name before. */
export async function deadLettersOfDelivery(
  stream: DeadLettersStream,
  { key: token, label, config }: Partner,
  { tenant, eventId }: Pick<DeliveryRecord, "tenant" | "eventId">,
): Promise<readonly StoredMessage[]> {
  const own = stream.of(token, deliveryId(tenant, eventId, config.uid));
  const before = stream.of(partnerKey(label), deliveryId(tenant, eventId, label));
  return [...(await own), ...(await before)];
}

/** A message that is no delivery at all: kept as it is, so that nobody trips over it again. */
export function unreadableDeadLetter(
  partner: string,
  subject: string,
  seq: number,
  data: Uint8Array,
): DeadLetterToStore {
  const reason = "unreadable";
  const payload = JSON.stringify({ subject, seq, state: "dead", reason, body: Buffer.from(data).toString("base64") });
  return { partner, reason, did: eventHash(`${subject}:${seq}`), messageId: `dlq:${subject}:${seq}`, payload };
}
