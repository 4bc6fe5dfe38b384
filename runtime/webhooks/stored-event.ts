import type { HeaderFields } from "../nats/headers.ts";
import type { Envelope } from "./envelope.ts";
import type { EventFacts } from "./subscriptions.ts";

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

const header = { eventId: "Hg-Event", type: "Hg-Type", producer: "Hg-Producer", nonce: "Hg-Nonce" } as const;

/** Headers that {@link readEvent} reads back. The tenant is in the subject. */
export function eventHeaders({ eventId, type, producer }: Envelope, nonce: string): HeaderFields {
  return { [header.eventId]: eventId, [header.type]: type, [header.producer]: producer, [header.nonce]: nonce };
}

/** The event of a message; undefined when something else wrote the message. */
export function readEvent({ subject, seq, storedAtMs, headers, data }: EventMessage): StoredEvent | undefined {
  const tenant = subject.split(".").at(-2);
  const { [header.eventId]: eventId, [header.type]: type, [header.producer]: producer } = headers;
  if (tenant === undefined || eventId === undefined || type === undefined) {
    return undefined;
  }
  const nonce = headers[header.nonce] ?? "";
  const facts = { tenant, eventId, type, seq, acceptedAtMs: storedAtMs, body: data, nonce };
  return producer === undefined ? facts : { ...facts, producer };
}
