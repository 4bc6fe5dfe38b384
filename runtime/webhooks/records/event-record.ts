import { parseEvent } from "../../nats/layout.ts";
import { headerMark, type HeaderFields } from "../../nats/messages/headers.ts";
import type { ScannedMessage } from "../../nats/messages/scanned-message.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { Envelope } from "../events/envelope.ts";
import { pingType } from "../events/reserved-types.ts";
import type { EventFacts } from "../events/subscriptions.ts";

/** The stored form of an event. Its body is not parsed again on the way to partners. */
export interface StoredEvent extends EventFacts {
  readonly eventId: string;
  readonly seq: number;
  /** Time at which JetStream stored it, Unix milliseconds by its clock. */
  readonly acceptedAtMs: number;
  readonly body: Uint8Array;
  /** Identifies the request that stored it. */
  readonly nonce: string;
  /** Trace of the caller that sent it, as `telemetry/delivery-spans.ts` writes it. */
  readonly trace?: string;
}

const header = {
  eventId: "Hg-Event",
  type: "Hg-Type",
  producer: "Hg-Producer",
  nonce: "Hg-Nonce",
  about: "Hg-About",
  trace: "Hg-Trace",
  /** In place of the type: older versions do not know the header, and must not route a ping by subscriptions. */
  ping: "Hg-Ping",
} as const;

/**
 * Builds the headers that {@link readEvent} parses. The subject holds the tenant.
 *
 * @param more about: key of the partner that an operational event concerns; only: key of the partner of a ping;
 *   trace: of the caller
 */
export function eventHeaders(
  { eventId, type, producer }: Envelope,
  nonce: string,
  more: { readonly about?: string; readonly only?: string; readonly trace?: string | undefined } = {},
): HeaderFields {
  return {
    [header.eventId]: eventId,
    [header.type]: more.only === undefined ? type : undefined,
    [header.ping]: more.only,
    [header.producer]: producer,
    [header.nonce]: nonce,
    [header.about]: more.about,
    [header.trace]: more.trace,
  };
}

/** What {@link readRecordedEvent} reads. */
type RecordedEvent = EventFacts & Pick<StoredEvent, "eventId">;

const mark = {
  eventId: headerMark(header.eventId),
  type: headerMark(header.type),
  producer: headerMark(header.producer),
  about: headerMark(header.about),
  ping: headerMark(header.ping),
} as const;

/** The part of {@link readEvent} that subscriptions match. It looks at no other header. */
export function readRecordedEvent(message: ScannedMessage): RecordedEvent | undefined {
  const tenant = parseEvent(message.subject)?.tenant;
  const eventId = message.header(mark.eventId);
  const only = message.header(mark.ping);
  const type = only === undefined ? message.header(mark.type) : pingType;
  if (tenant === undefined || eventId === undefined || type === undefined) return undefined;
  const producer = message.header(mark.producer);
  const about = message.header(mark.about);
  const event: { -readonly [Name in keyof RecordedEvent]: RecordedEvent[Name] } = { tenant, eventId, type };
  if (producer !== undefined) event.producer = producer;
  if (about !== undefined) event.about = about;
  if (only !== undefined) event.only = only;
  return event;
}

/** Parses the message of an event; undefined for any other message. */
export function readEvent({ subject, seq, storedAtMs, headers, data }: StoredMessage): StoredEvent | undefined {
  const { tenant } = parseEvent(subject) ?? {};
  const { [header.eventId]: eventId, [header.producer]: producer, [header.trace]: trace } = headers;
  const type = headers[header.ping] === undefined ? headers[header.type] : pingType;
  if (tenant === undefined || eventId === undefined || type === undefined) return undefined;
  const nonce = headers[header.nonce] ?? "";
  const known = { tenant, eventId, type, seq, acceptedAtMs: storedAtMs, body: data, nonce };
  const traced = trace === undefined ? known : { ...known, trace };
  const facts = { ...traced, ...namedPartner(headers) };
  return producer === undefined ? facts : { ...facts, producer };
}

/** The partner that an operational event concerns, or that a ping is for. */
function namedPartner(headers: StoredMessage["headers"]): Pick<EventFacts, "about" | "only"> {
  const { [header.about]: about, [header.ping]: only } = headers;
  return { ...(about === undefined ? {} : { about }), ...(only === undefined ? {} : { only }) };
}
