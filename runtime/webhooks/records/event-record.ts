import { parseEvent } from "../../nats/layout.ts";
import type { HeaderFields } from "../../nats/messages/headers.ts";
import type { Envelope } from "../events/envelope.ts";
import type { EventFacts } from "../events/subscriptions.ts";

/** An event as the events stream holds it; its body is never parsed again on the way to partners. */
export interface StoredEvent extends EventFacts {
  readonly eventId: string;
  readonly seq: number;
  /** When JetStream took it, Unix milliseconds by its clock. */
  readonly acceptedAtMs: number;
  readonly body: Uint8Array;
  /** Names the request that stored it. */
  readonly nonce: string;
}

interface EventMessage {
  readonly subject: string;
  readonly seq: number;
  readonly storedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

const header = {
  eventId: "Hg-Event",
  type: "Hg-Type",
  producer: "Hg-Producer",
  nonce: "Hg-Nonce",
  about: "Hg-About",
} as const;

/**
 * Headers that {@link readEvent} reads back. The tenant is in the subject.
 *
 * @param about token of the partner that an event about a delivery is about
 */
export function eventHeaders({ eventId, type, producer }: Envelope, nonce: string, about?: string): HeaderFields {
  const { eventId: id, type: typeName, producer: producerName, nonce: nonceName, about: aboutName } = header;
  return { [id]: eventId, [typeName]: type, [producerName]: producer, [nonceName]: nonce, [aboutName]: about };
}

/** The event of a message; undefined when something else wrote the message. */
export function readEvent({ subject, seq, storedAtMs, headers, data }: EventMessage): StoredEvent | undefined {
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
