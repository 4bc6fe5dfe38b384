import { parseJsonObject } from "../../json/json-body.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { EventIndexStream } from "../../nats/streams/event-index-stream.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { HeaderScan, ScannedMessage } from "../../nats/messages/header-scan.ts";
import {
  decodeIndexMessage,
  encodeIndexMessage,
  type IndexMessage,
  eventKeyOf,
  type AttemptRow,
  type EventKey,
  type EventRow,
} from "./index-message.ts";
import { parseEvent } from "../../nats/layout.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { readRecordedEvent, type HandledNote, type RoutingNote } from "../records/event-record.ts";

interface IndexWriterDeps {
  readonly events: Pick<EventsStream, "follow">;
  readonly attempts: Pick<AttemptsStream, "follow" | "oldest">;
  readonly index: Pick<EventIndexStream, "append" | "last" | "clear">;
  /** Identifies the streams that are read. A stored index of others is removed. @throws Error of NATS */
  readonly source: () => Promise<string>;
}

/** Messages of a stream in one message of the index. */
const batchMax = 1_000;

/** Where the index ends, and both scans from there. */
interface Open {
  readonly events: HeaderScan;
  readonly attempts: HeaderScan;
  place: Omit<IndexMessage, "events" | "attempts">;
  /** Sequence of the last message of the index; 0 for none. */
  lastSeq: number;
}

/**
 * Creates a function that appends the rows of everything new. It continues where the stored index ends, and begins an
 * index if there is none. It throws when another pod appended meanwhile; a new writer then reads where to continue.
 */
export function createIndexWriter(deps: IndexWriterDeps): () => Promise<void> {
  let open: Open | undefined;
  return async () => {
    open ??= await openIndex(deps);
    while (await appendNew(deps.index, open));
  };
}

async function openIndex({ events, attempts, index, source }: IndexWriterDeps): Promise<Open> {
  const [last, made] = [await index.last(), await source()];
  const stored = last === undefined ? undefined : decodeIndexMessage(last.data);
  const isOwn = stored?.source === made;
  if (last !== undefined && !isOwn) await index.clear();
  const { number, source: of, sinceMs, eventSeq, attemptSeq } = isOwn ? stored : await beginning(attempts, made);
  return {
    events: await events.follow(eventSeq + 1),
    attempts: await attempts.follow(attemptSeq + 1),
    place: { number, source: of, sinceMs, eventSeq, attemptSeq },
    lastSeq: isOwn ? (last?.seq ?? 0) : 0,
  };
}

async function beginning(attempts: Pick<AttemptsStream, "oldest">, source: string): Promise<Open["place"]> {
  const oldest = await attempts.oldest();
  const sinceMs = oldest === undefined || oldest.seq <= 1 ? 0 : oldest.storedAtMs;
  return { number: 0, source, sinceMs, eventSeq: 0, attemptSeq: 0 };
}

/**
 * Appends the next attempts after all events that are stored by then, since an attempt's event is stored before it.
 *
 * @returns true when there is more
 */
async function appendNew(index: Pick<EventIndexStream, "append">, open: Open): Promise<boolean> {
  const attempts = await open.attempts.next(batchMax);
  for (;;) {
    const events = await open.events.next(batchMax);
    const isLast = events.length < batchMax;
    const eventSeq = events.at(-1)?.seq ?? open.place.eventSeq;
    const rows = { events: events.flatMap(eventRowsOf), attempts: isLast ? attempts.flatMap(attemptRowsOf) : [] };
    const attemptSeq = (isLast ? attempts.at(-1)?.seq : undefined) ?? open.place.attemptSeq;
    if (rows.events.length + rows.attempts.length > 0)
      await append(index, open, { ...open.place, eventSeq, attemptSeq, ...rows, number: open.place.number + 1 });
    if (isLast) return attempts.length === batchMax;
  }
}

async function append(index: Pick<EventIndexStream, "append">, open: Open, message: IndexMessage): Promise<void> {
  const result = await index.append(encodeIndexMessage(message), open.lastSeq);
  if (result.kind !== "stored")
    throw new Error(result.kind === "rejected" ? result.detail : "another pod appended to the index of events");
  const { events: _events, attempts: _attempts, ...place } = message;
  open.place = place;
  open.lastSeq = result.seq;
}

/** The row of an event's message, which may lack its body; none for any other message. */
function eventRowsOf(message: ScannedMessage): readonly EventRow[] {
  const event = readRecordedEvent(message);
  const { idhash } = parseEvent(message.subject) ?? {};
  if (event === undefined || idhash === undefined) return [];
  const { seq, storedAtMs: atMs } = message;
  const { tenant, type, producer = "", only, about = only ?? "" } = event;
  return [{ seq, atMs, tenant, type, producer, about, ...eventKeyOf(idhash) }];
}

/** What is among the records of an event. */
type Stored = Partial<AttemptRecord> & { readonly kind?: string };

/** The rows of a message of `HG_ATTEMPTS`: an attempt, an acknowledgement, or partners that got no delivery. */
function attemptRowsOf({ subject, data }: StoredMessage): readonly AttemptRow[] {
  const { tenant, idhash } = parseEvent(subject) ?? {};
  const stored: Stored | undefined = parseJsonObject(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
  if (tenant === undefined || idhash === undefined || stored === undefined) return [];
  const event = { ...eventKeyOf(idhash), tenant };
  if (stored.settlement !== undefined && stored.did !== undefined) return [attemptRow(event, stored as AttemptRecord)];
  if (stored.kind === "handled") {
    const { at, generation } = stored as unknown as HandledNote;
    return [{ ...event, ...note, kind: "handled", partner: "", atMs: timeOf(at), generation }];
  }
  return stored.kind === "routed" ? rejectedRows(event, stored as unknown as RoutingNote) : [];
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

function rejectedRows(event: EventOfRow, { at, refused }: RoutingNote): readonly AttemptRow[] {
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
