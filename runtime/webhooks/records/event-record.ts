import { parseEvent } from "../../nats/layout.ts";
import type { HeaderFields } from "../../nats/messages/headers.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { Envelope } from "../events/envelope.ts";
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
}

const header = {
  eventId: "Hg-Event",
  type: "Hg-Type",
  producer: "Hg-Producer",
  nonce: "Hg-Nonce",
  about: "Hg-About",
} as const;

/**
 * Builds the headers that {@link readEvent} parses. The subject holds the tenant.
 *
 * @param about key of the partner that an operational event concerns
 */
export function eventHeaders({ eventId, type, producer }: Envelope, nonce: string, about?: string): HeaderFields {
  const { eventId: id, type: typeName, producer: producerName, nonce: nonceName, about: aboutName } = header;
  return { [id]: eventId, [typeName]: type, [producerName]: producer, [nonceName]: nonce, [aboutName]: about };
}

/** Parses the message of an event; undefined for any other message. */
export function readEvent({ subject, seq, storedAtMs, headers, data }: StoredMessage): StoredEvent | undefined {
  const { tenant } = parseEvent(subject) ?? {};
  const { [header.eventId]: eventId, [header.type]: type, [header.producer]: producer } = headers;
  if (tenant === undefined || eventId === undefined || type === undefined) {
    return undefined;
  }
  const nonce = headers[header.nonce] ?? "";
  const about = headers[header.about];
  const known = { tenant, eventId, type, seq, acceptedAtMs: storedAtMs, body: data, nonce };
  const facts = about === undefined ? known : { ...known, about };
  return producer === undefined ? facts : { ...facts, producer };
}
