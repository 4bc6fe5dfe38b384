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
  /** Trace of the caller that sent it, as `telemetry/event-trace.ts` writes it. */
  readonly trace?: string;
}

const header = {
  eventId: "Hg-Event",
  type: "Hg-Type",
  producer: "Hg-Producer",
  nonce: "Hg-Nonce",
  about: "Hg-About",
  trace: "Hg-Trace",
} as const;

/**
 * Builds the headers that {@link readEvent} parses. The subject holds the tenant.
 *
 * @param more about: key of the partner that an operational event concerns; trace: of the caller
 */
export function eventHeaders(
  { eventId, type, producer }: Envelope,
  nonce: string,
  more: { readonly about?: string; readonly trace?: string | undefined } = {},
): HeaderFields {
  return {
    [header.eventId]: eventId,
    [header.type]: type,
    [header.producer]: producer,
    [header.nonce]: nonce,
    [header.about]: more.about,
    [header.trace]: more.trace,
  };
}

/** Parses the message of an event; undefined for any other message. */
export function readEvent({ subject, seq, storedAtMs, headers, data }: StoredMessage): StoredEvent | undefined {
  const { tenant } = parseEvent(subject) ?? {};
  const { [header.eventId]: eventId, [header.type]: type, [header.producer]: producer } = headers;
  if (tenant === undefined || eventId === undefined || type === undefined) {
    return undefined;
  }
  const nonce = headers[header.nonce] ?? "";
  const { [header.about]: about, [header.trace]: trace } = headers;
  const known = { tenant, eventId, type, seq, acceptedAtMs: storedAtMs, body: data, nonce };
  const traced = trace === undefined ? known : { ...known, trace };
  const facts = about === undefined ? traced : { ...traced, about };
  return producer === undefined ? facts : { ...facts, producer };
}
