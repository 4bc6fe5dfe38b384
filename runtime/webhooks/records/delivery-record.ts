// Records: the stored forms of event, delivery, attempt, dead letter and acknowledgement. Decisions are elsewhere.
import type { DeliveryToStore } from "../../nats/streams/deliveries-stream.ts";
import { parseDelivery } from "../../nats/layout.ts";
import type { HeaderFields } from "../../nats/messages/headers.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { messageId, type AttemptId } from "../ids.ts";

/** One step of a delivery, as the headers and the subject of its message store it. */
export interface DeliveryRecord extends AttemptId {
  /** Partner key. */
  readonly partner: string;
  readonly tenant: string;
  readonly eventId: string;
  readonly type: string;
  readonly producer?: string;
  /** Time at which the event or the replay was accepted; Unix milliseconds by JetStream's clock. */
  readonly acceptedAtMs: number;
  /** Attempts in earlier generations: `X-Attempt` counts on. */
  readonly attemptsBefore: number;
  readonly replayId?: string;
  /** As in the event. */
  readonly trace?: string;
  /** Configuration that routed the event, as `event-record.ts` writes it; absent in records of earlier versions. */
  readonly routedBy?: string;
}

/** The names are short because every message of the deliveries stream carries them. A fired schedule keeps them. */
const header = {
  eventId: "Hg-Event",
  tenant: "Hg-Tenant",
  type: "Hg-Type",
  producer: "Hg-Producer",
  /** `generation:attempt:hop`. */
  step: "Hg-Step",
  /** Unix milliseconds. */
  accepted: "Hg-Accepted",
  before: "Hg-Before",
  replayId: "Hg-Replay",
  trace: "Hg-Trace",
  routedBy: "Hg-Routed",
} as const;

const stepForm = /^(?<generation>\d{1,9}):(?<attempt>[1-9]\d{0,8}):(?<hop>\d{1,9})$/u;

/** Builds the headers that {@link parseDeliveryRecord} parses. */
export function deliveryHeaders(delivery: DeliveryRecord): HeaderFields {
  return {
    [header.eventId]: delivery.eventId,
    [header.tenant]: delivery.tenant,
    [header.type]: delivery.type,
    [header.producer]: delivery.producer,
    [header.step]: `${delivery.generation}:${delivery.attempt}:${delivery.hop}`,
    [header.accepted]: String(delivery.acceptedAtMs),
    [header.before]: delivery.attemptsBefore === 0 ? undefined : String(delivery.attemptsBefore),
    [header.replayId]: delivery.replayId,
    [header.trace]: delivery.trace,
    [header.routedBy]: delivery.routedBy,
  };
}

/** Parses the message of a delivery on any of its three subjects; undefined for any other message. */
export function parseDeliveryRecord({
  subject,
  headers,
}: Pick<StoredMessage, "subject" | "headers">): DeliveryRecord | undefined {
  const { partner, did } = parseDelivery(subject) ?? {};
  const { [header.eventId]: eventId, [header.tenant]: tenant, [header.type]: type } = headers;
  const { [header.accepted]: accepted, [header.producer]: producer, [header.replayId]: replayId } = headers;
  const step = stepForm.exec(headers[header.step] ?? "")?.groups;
  const texts = { partner, did, eventId, tenant, type };
  if (step === undefined || accepted === undefined || !areWhole(texts)) return undefined;
  return {
    ...texts,
    acceptedAtMs: Number(accepted),
    generation: Number(step["generation"]),
    attempt: Number(step["attempt"]),
    hop: Number(step["hop"]),
    attemptsBefore: Number(headers[header.before] ?? 0),
    ...(producer === undefined ? {} : { producer }),
    ...(replayId === undefined ? {} : { replayId }),
    ...optionalOf(headers),
  };
}

function optionalOf(headers: Readonly<Record<string, string>>): Pick<DeliveryRecord, "trace" | "routedBy"> {
  const { [header.trace]: trace, [header.routedBy]: routedBy } = headers;
  return { ...(trace === undefined ? {} : { trace }), ...(routedBy === undefined ? {} : { routedBy }) };
}

function areWhole<K extends string>(
  texts: Readonly<Record<K, string | undefined>>,
): texts is Readonly<Record<K, string>> {
  return Object.values(texts).every((text) => text !== undefined);
}

/** Builds the message that carries a step in a lane. @param body of the event, as accepted */
export function deliveryMessage(delivery: DeliveryRecord, lane: string, body: Uint8Array): DeliveryToStore {
  const { partner, did } = delivery;
  return { lane, partner, did, messageId: messageId(delivery), headers: deliveryHeaders(delivery), body };
}

/** The step of the next attempt. */
export function nextAttempt(delivery: DeliveryRecord): DeliveryRecord {
  return { ...delivery, attempt: delivery.attempt + 1, hop: 0 };
}

/** Number of the attempt for partners: `X-Attempt` and the body's `attempt`. */
export function attemptNumber(delivery: DeliveryRecord): number {
  return delivery.attemptsBefore + delivery.attempt;
}

/** Whether `a` is a later attempt or generation than `b` of the same delivery. */
export function isLater(a: AttemptId, b: AttemptId): boolean {
  return a.generation === b.generation ? a.attempt > b.attempt : a.generation > b.generation;
}

/** Whether `a` is the same attempt as `b`, republished later. */
export function isMoved(a: AttemptId, b: AttemptId): boolean {
  return a.generation === b.generation && a.attempt === b.attempt && a.hop > b.hop;
}
