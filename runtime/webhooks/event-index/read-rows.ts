import { parseJsonObject } from "../../json/json-object.ts";
import { parseEvent } from "../../nats/layout.ts";
import type { ScannedMessage } from "../../nats/messages/scanned-message.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { readRecordedEvent } from "../records/event-record.ts";
import type { HandledNote } from "../records/handled-record.ts";
import type { RoutedNote } from "../records/routed-note.ts";
import { eventKeyOf, type AttemptRow, type EventKey, type EventRow } from "./rows.ts";

/** The row of an event's message, which may lack its body; none for any other message. */
export function eventRowsOf(message: ScannedMessage): readonly EventRow[] {
  const event = readRecordedEvent(message);
  const { idhash } = parseEvent(message.subject) ?? {};
  if (event === undefined || idhash === undefined) return [];
  const { seq, storedAtMs: atMs } = message;
  const { tenant, type, producer = "", only, about = only ?? "" } = event;
  return [{ seq, atMs, tenant, type, producer, about, ...eventKeyOf(idhash) }];
}

/** What stands among the records of an event. */
type Stored = Partial<AttemptRecord> & { readonly kind?: string };

/** The rows of a message of `HG_ATTEMPTS`: an attempt, an acknowledgement, or partners that got no delivery. */
export function attemptRowsOf({ subject, data }: StoredMessage): readonly AttemptRow[] {
  const { tenant, idhash } = parseEvent(subject) ?? {};
  const stored: Stored | undefined = parseJsonObject(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
  if (tenant === undefined || idhash === undefined || stored === undefined) return [];
  const event = { ...eventKeyOf(idhash), tenant };
  if (stored.settlement !== undefined && stored.did !== undefined) return [attemptRow(event, stored as AttemptRecord)];
  if (stored.kind === "handled") {
    const { at, generation } = stored as unknown as HandledNote;
    return [{ ...event, ...note, kind: "handled", partner: "", atMs: timeOf(at), generation }];
  }
  return stored.kind === "routed" ? refusedRows(event, stored as unknown as RoutedNote) : [];
}

type EventOfRow = EventKey & Pick<AttemptRow, "tenant">;

const note = { status: 0, reason: "", durationMs: 0, generation: 0, attempt: 0 } as const;

function attemptRow(event: EventOfRow, record: AttemptRecord): AttemptRow {
  const { settlement, outcome, partner, at, durationMs, generation, attempt } = record;
  return {
    ...event,
    kind: settlement.kind,
    partner: `${partner.namespace}/${partner.name}`,
    status: outcome.kind === "response" ? outcome.status : 0,
    reason: settlement.kind === "delivered" ? "" : settlement.reason,
    atMs: timeOf(at),
    durationMs,
    generation,
    attempt,
  };
}

function refusedRows(event: EventOfRow, { at, refused }: RoutedNote): readonly AttemptRow[] {
  return refused.map(({ namespace, name }) => ({
    ...event,
    ...note,
    kind: "not_routed",
    partner: `${namespace}/${name}`,
    reason: "not_permitted",
    atMs: timeOf(at),
  }));
}

function timeOf(text: string): number {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? 0 : ms;
}
