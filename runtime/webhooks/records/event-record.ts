import { parseEvent } from "../../nats/layout.ts";
import { headerMark, type HeaderFields } from "../../nats/messages/headers.ts";
import type { ScannedMessage } from "../../nats/messages/header-scan.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { type Envelope, pingType } from "../events/envelope.ts";
import { selectPayload, type PayloadSelection } from "../events/payload-selection.ts";
import type { EventFacts } from "../events/subscriptions.ts";
import type { RoutedBy } from "../../../api/histories.ts";
import type { PartnerConfig } from "../../../crds/config.ts";
import { parseJsonObject } from "../../json/json-body.ts";

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

/** Version of the payload of a stored event; undefined for an event of this program that has none. */
export function versionOf(body: Uint8Array): string | undefined {
  const version = parseJsonObject(Buffer.from(body).toString())?.["version"];
  return typeof version === "string" ? version : undefined;
}

/** The partner that an operational event concerns, or that a ping is for. */
function namedPartner(headers: StoredMessage["headers"]): Pick<EventFacts, "about" | "only"> {
  const { [header.about]: about, [header.ping]: only } = headers;
  return { ...(about === undefined ? {} : { about }), ...(only === undefined ? {} : { only }) };
}

/** Note that no partner, or not every one, gets an event; stored with the attempts of the event. */
export interface RoutingNote {
  readonly kind: "routed";
  /** Time of the routing, ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  /** Deliveries that the router published for it. */
  readonly deliveries: number;
  /** Partners that have lost the right to the event; at most 1,024. */
  readonly refused: readonly Pick<PartnerConfig, "uid" | "namespace" | "name">[];
  /** As in a delivery, without a generation; absent in notes of earlier versions. */
  readonly routedBy?: string;
}

/** 64 bits, because a header of every stored delivery carries them. */
const digitsMax = 16;

const form = /^c=(?<configuration>[0-9a-f]{1,64})(?:;g=(?<generation>\d{1,15}))?(?:;|$)/u;

/** Records that a tenant sent an event id of another one. Stored among the attempts of the tenant that was rejected. */
export interface TakenNote {
  readonly kind: "id_taken";
  /** The tenant that has the id. */
  readonly holder: string;
  /** Time of the first rejection by JetStream's clock, ISO 8601 UTC. */
  readonly at: string;
}

/** Acknowledgement of a dead letter that was handled manually; stored with the attempts of its event. */
export interface HandledNote {
  readonly kind: "handled";
  readonly did: string;
  /** Generation that had ended. The note does not count for later generations. */
  readonly generation: number;
  /** ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  /** Client key of the caller. */
  readonly by: string;
  readonly note?: string;
}

/** Parses the first note among the records of an event. Repeated routing may store the note again. */
export function parseRoutingNote(messages: readonly Pick<StoredMessage, "data">[]): RoutingNote | undefined {
  for (const { data } of messages) {
    const note: Partial<RoutingNote> | undefined = parseJsonObject(Buffer.from(data).toString());
    if (note?.kind === "routed" && note.at !== undefined) return note as RoutingNote;
  }
  return undefined;
}

/**
 * The stored form: `c=CONFIGURATION;g=GENERATION;s=PAYLOAD`, without what is not known. Pods copy it from step to step
 * as text, so that the members of a later version survive a rollout. @param hash lowercase hex
 */
export function routedByText(hash: string | undefined, generation?: number, payload: PayloadSelection = []): string {
  const members = hash === undefined ? [] : [`c=${hash.slice(0, digitsMax)}`];
  if (hash !== undefined && generation !== undefined) members.push(`g=${generation}`);
  if (payload.length > 0) members.push(`s=${Buffer.from(JSON.stringify(payload)).toString("base64url")}`);
  return members.join(";");
}

const payloadForm = /(?:^|;)s=(?<payload>[A-Za-z0-9_-]+)(?=;|$)/u;

/** The part of the event that a delivery sends, by the stored form; empty for the whole event. */
export function parsePayload(routedBy: string | undefined): PayloadSelection {
  // Nearly all deliveries send the whole event.
  if (routedBy?.includes("s=") !== true) return [];
  const { payload } = payloadForm.exec(routedBy)?.groups ?? {};
  if (payload === undefined) return [];
  return JSON.parse(Buffer.from(payload, "base64url").toString()) as PayloadSelection;
}

/** The stored form without the payload, for places that keep many of them. */
export function withoutPayload(routedBy: string): string {
  return routedBy.replace(payloadForm, "");
}

/** The bytes of an event that a delivery sends. */
export function sentBytes({ body }: Pick<StoredEvent, "body">, routedBy: string | undefined): Uint8Array {
  const selection = parsePayload(routedBy);
  return selection.length === 0 ? body : selectPayload(body, selection);
}

/** Parses the stored form and ignores later members; undefined for any other text. */
export function parseRoutedBy(text: string | undefined): RoutedBy | undefined {
  const { configuration, generation } = form.exec(text ?? "")?.groups ?? {};
  if (configuration === undefined) return undefined;
  return generation === undefined ? { configuration } : { configuration, generation: Number(generation) };
}

/** Parses the acknowledgements among the records of an event. */
export function parseHandled(messages: readonly Pick<StoredMessage, "data">[]): readonly HandledNote[] {
  return messages.flatMap(({ data }) => {
    const note: Partial<HandledNote> | undefined = parseJsonObject(Buffer.from(data).toString());
    return note?.kind === "handled" && note.did !== undefined ? [note as HandledNote] : [];
  });
}

/** Whether the end of a delivery in this generation is acknowledged. */
export function isHandled(delivery: Pick<HandledNote, "did" | "generation">, notes: readonly HandledNote[]): boolean {
  return findHandled(delivery, notes) !== undefined;
}

/** The first acknowledgement of the end of a delivery in this generation. */
export function findHandled(
  { did, generation }: Pick<HandledNote, "did" | "generation">,
  notes: readonly HandledNote[],
): HandledNote | undefined {
  return notes.find((note) => note.did === did && note.generation >= generation);
}
