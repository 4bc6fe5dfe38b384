import { parseDeadLetterSubject, type DeadLetterSubject } from "../../nats/layout.ts";
import type { DeadLettersStream, DeadLetterToStore } from "../../nats/streams/dead-letters-stream.ts";
import type { MessageHead, StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { AttemptRecord } from "./attempt-records.ts";
import type { DeliveryRecord } from "./delivery-record.ts";
import { withoutPayload } from "./event-record.ts";
import { deliveryId, eventHash, messageId, partnerKey } from "../ids.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";
import type { DeadLetterState } from "../settlement/settlement-table.ts";

/** The stored form of a delivery that ended without success. The body is the event as sent, in base64. */
export interface DeadLetter extends DeliveryRecord {
  readonly state: DeadLetterState;
  /** Code of the outcome that ended it; a token of the subject. */
  readonly reason: string;
  readonly partnerName: { readonly uid: string; readonly namespace: string; readonly name: string };
  /** ISO 8601 UTC by JetStream's clock. */
  readonly endedAt: string;
  /** The last attempts of this delivery, without their signatures and requests. */
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

/** So that dead letters are counted and selected without reading their bodies. */
const header = { tenant: "Hg-Tenant", partner: "Hg-Partner", type: "Hg-Type", ended: "Hg-Ended" } as const;
/** With the largest event and responses, a dead letter stays below the 1 MiB that NATS allows per message. */
const attemptsMax = 64;
const idDigits = 8;

/**
 * Builds the message of a dead letter. Its id is `dlq:` and the id of the step that ended the delivery, so a repeat
 * after a crash is stored once.
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
    attempts: attempts.slice(-attemptsMax).map(({ signed: _signed, sent: _sent, routedBy, ...attempt }) => ({
      ...attempt,
      ...(routedBy === undefined ? {} : { routedBy: withoutPayload(routedBy) }),
    })),
    body: Buffer.from(body).toString("base64"),
  };
  const { partner: key, did } = delivery;
  const kept = retainSeconds === undefined ? {} : { retainSeconds };
  return {
    partner: key,
    reason,
    did,
    messageId: `dlq:${messageId(delivery)}`,
    payload: JSON.stringify(deadLetter),
    headers: {
      [header.tenant]: delivery.tenant,
      [header.partner]: `${namespace}/${name}`,
      [header.type]: delivery.type,
      [header.ended]: String(endedAtMs),
    },
    ...kept,
  };
}

/** The facts about a dead letter that are known without its body. */
export interface DeadLetterHead extends DeadLetterSubject {
  readonly seq: number;
  /** Unix milliseconds by JetStream's clock; the time of storage in dead letters of earlier versions. */
  readonly endedAtMs: number;
  /** Absent in dead letters of earlier versions. */
  readonly about?: DeadLetterAbout;
}

/** The tenant, the partner and the event type of a dead letter. */
export interface DeadLetterAbout {
  readonly tenant: string;
  /** `namespace/name`. */
  readonly label: string;
  /** Absent in dead letters of earlier versions, until their bodies are read. */
  readonly type?: string;
}

/** Parses the head of a dead letter; undefined for any other message. */
export function parseDeadLetterHead({ subject, seq, storedAtMs, headers }: MessageHead): DeadLetterHead | undefined {
  const tokens = parseDeadLetterSubject(subject);
  const { [header.tenant]: tenant, [header.partner]: label, [header.type]: type, [header.ended]: ended } = headers;
  if (tokens === undefined) return undefined;
  const endedAtMs = ended === undefined ? storedAtMs : Number(ended);
  if (tenant === undefined || label === undefined) return { ...tokens, seq, endedAtMs };
  return { ...tokens, seq, endedAtMs, about: { tenant, label, ...(type === undefined ? {} : { type }) } };
}

/**
 * Builds the message of a dead letter of a partner that is no longer configured. Its key is a hash of the partner's
 * name, so the next partner of that name finds it under any uid.
 */
export function removedPartnerDeadLetter(
  usual: DeadLetterToStore,
  { delivery: { tenant, eventId }, partner: { label } }: Pick<EndedDelivery, "delivery" | "partner">,
): DeadLetterToStore {
  return { ...usual, partner: partnerKey(label), did: deliveryId(tenant, eventId, label) };
}

/** Parses a dead letter; undefined for that of an unreadable message. */
export function parseDeadLetter(data: Uint8Array): DeadLetter | undefined {
  try {
    const value = JSON.parse(Buffer.from(data).toString()) as Partial<DeadLetter> | null;
    return value?.did !== undefined && value.eventId !== undefined ? (value as DeadLetter) : undefined;
  } catch {
    return undefined;
  }
}

/** The id of a dead letter for callers. With a part of the delivery id, it never names a letter of another stream. */
export function deadLetterId(seq: number, did: string): string {
  return `${seq}-${did.slice(0, idDigits)}`;
}

/** The sequence of {@link deadLetterId}. */
export function deadLetterSeq(id: string): number {
  return Number(id.split("-", 1)[0]);
}

/** Keys of the dead letters of a partner: its own, and the one that all removed partners of its name share. */
export function deadLetterKeys({ key, label }: Pick<Partner, "key" | "label">): readonly string[] {
  return [key, partnerKey(label)];
}

/**
 * Reads dead letters of several keys in order, from a sequence on, at most `countMax`. Only an empty list means that
 * there are no more.
 */
export async function readDeadLetters(
  stream: DeadLettersStream,
  keys: readonly string[],
  { reason, fromSeq, countMax }: { readonly reason: string; readonly fromSeq: number; readonly countMax: number },
): Promise<readonly StoredMessage[]> {
  const lists = await Promise.all(keys.map((key) => stream.list(key, reason, fromSeq, countMax)));
  // A list may end early. Beyond its last letter, the order of the other lists is incomplete.
  const lastSeq = Math.min(...lists.flatMap((list) => list.at(-1)?.seq ?? []));
  const known = lists.flat().filter(({ seq }) => seq <= lastSeq);
  return known.toSorted((a, b) => a.seq - b.seq).slice(0, countMax);
}

/** Reads the newest dead letter per reason of a delivery, also those of a removed partner of the same name. */
export async function deadLettersOfDelivery(
  stream: DeadLettersStream,
  { key, label, config }: Partner,
  { tenant, eventId }: Pick<DeliveryRecord, "tenant" | "eventId">,
): Promise<readonly StoredMessage[]> {
  const own = stream.of(key, deliveryId(tenant, eventId, config.uid));
  const removed = stream.of(partnerKey(label), deliveryId(tenant, eventId, label));
  return [...(await own), ...(await removed)];
}

/** Builds the dead letter of a message that does not parse as a delivery. It holds the raw bytes. */
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
