import type { DeadLetterToStore } from "../nats/dead-letters-stream.ts";
import type { AttemptRecord } from "./attempts.ts";
import type { DeliveryItem } from "./delivery-item.ts";
import { eventHash, messageId } from "./ids.ts";
import type { Partner } from "./partner.ts";

/** How a delivery ended without success: the partner said no, or time ran out. */
export type DeadLetterState = "rejected" | "dead";

/** What is kept of a delivery that ended without success. The body is the event as received, in base64. */
export interface DeadLetter extends DeliveryItem {
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
  readonly item: DeliveryItem;
  readonly partner: Partner;
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
export function deadLetter(ended: EndedDelivery): DeadLetterToStore {
  const { item, partner, state, reason, endedAtMs, attempts, body } = ended;
  const { uid, namespace, name, deadLetterSeconds: retainSeconds } = partner.config;
  const letter: DeadLetter = {
    ...item,
    state,
    reason,
    partnerName: { uid, namespace, name },
    endedAt: new Date(endedAtMs).toISOString(),
    attempts: attempts.slice(-attemptsMax),
    body: Buffer.from(body).toString("base64"),
  };
  const { partner: token, did } = item;
  const kept = retainSeconds === undefined ? {} : { retainSeconds };
  return { partner: token, reason, did, messageId: `dlq:${messageId(item)}`, payload: JSON.stringify(letter), ...kept };
}

/** A message that is no delivery at all: kept as it is, so that nobody trips over it again. */
export function unreadableLetter(partner: string, subject: string, seq: number, data: Uint8Array): DeadLetterToStore {
  const reason = "unreadable";
  const payload = JSON.stringify({ subject, seq, state: "dead", reason, body: Buffer.from(data).toString("base64") });
  return { partner, reason, did: eventHash(`${subject}:${seq}`), messageId: `dlq:${subject}:${seq}`, payload };
}
