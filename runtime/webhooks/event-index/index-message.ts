// The index of events: compact rows of events and attempts for lists and figures. Whatever a caller sees of an event is
// read from the streams of the event itself.
import { deflateRawSync, inflateRawSync } from "node:zlib";

/** The sequences of both streams up to which rows are in the index. */
interface IndexPlace {
  readonly eventSeq: number;
  readonly attemptSeq: number;
}

/** One message of the index. */
export interface IndexMessage extends IndexPlace {
  /** Number of the message since the index was begun, from 1. */
  readonly number: number;
  /** The streams that the index was made of. */
  readonly source: string;
  /** Attempts before this time were gone when the index was begun; Unix milliseconds, 0 for none. */
  readonly sinceMs: number;
  readonly events: readonly EventRow[];
  /** An event's row is in this message or in an earlier one. */
  readonly attempts: readonly AttemptRow[];
}

/** The stored form: rows as numbers in a row, and texts by their place in a list. */
interface StoredForm extends Omit<IndexMessage, "events" | "attempts"> {
  readonly form: typeof form;
  readonly texts: readonly string[];
  readonly events: readonly number[];
  readonly attempts: readonly number[];
}

const form = 1;
const eventMembers = 8;
const attemptMembers = 11;
/** The fastest level: rows of one batch are much alike. */
const level = 1;
/** A message of the writer has far less. */
const textBytesMax = 4 * 1024 * 1024;

/** What a row of attempts stands for. The first five are kinds of settlement; the others are notes without attempt. */
export const rowKinds = ["delivered", "retry", "rejected", "dead", "disabled", "handled", "not_routed"] as const;

export type RowKind = (typeof rowKinds)[number];

/** The 64 bits of an event's hash that link its rows. */
export interface EventKey {
  readonly high: number;
  readonly low: number;
}

/** One accepted event. */
export interface EventRow extends EventKey {
  readonly seq: number;
  /** Time at which it was accepted, Unix milliseconds. */
  readonly atMs: number;
  readonly tenant: string;
  readonly type: string;
  /** Empty for none. */
  readonly producer: string;
  /** Key of the partner that an operational event concerns, or that a ping is for; empty for none. */
  readonly about: string;
}

/** One attempt, or a note about a delivery. */
export interface AttemptRow extends EventKey {
  readonly kind: RowKind;
  readonly tenant: string;
  /** `namespace/name`; empty for an acknowledgement, which names no partner. */
  readonly partner: string;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** Code of the outcome; empty when the partner took the event. */
  readonly reason: string;
  /** Start of the attempt, Unix milliseconds. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly generation: number;
  readonly attempt: number;
}

const keyBytes = 8;

/** Encodes a message that {@link decodeIndexMessage} decodes. */
export function encodeIndexMessage({ events, attempts, ...place }: IndexMessage): Uint8Array {
  const places = new Map<string, number>();
  const placeOf = (text: string): number => {
    const known = places.get(text);
    if (known === undefined) places.set(text, places.size);
    return known ?? places.size - 1;
  };
  const stored: StoredForm = {
    ...place,
    form,
    events: events.flatMap(({ seq, atMs, high, low, tenant, type, producer, about }) => {
      return [seq, atMs, high, low, placeOf(tenant), placeOf(type), placeOf(producer), placeOf(about)];
    }),
    attempts: attempts.flatMap((row) => {
      const { high, low, kind, status, atMs, durationMs, generation, attempt } = row;
      const texts = [placeOf(row.tenant), placeOf(row.partner), placeOf(row.reason)];
      return [high, low, rowKinds.indexOf(kind), status, atMs, durationMs, generation, attempt, ...texts];
    }),
    texts: [...places.keys()],
  };
  return deflateRawSync(JSON.stringify(stored), { level });
}

/** Decodes a message of the index; undefined for any other bytes and for those of a later form. */
export function decodeIndexMessage(payload: Uint8Array): IndexMessage | undefined {
  const stored = parse(payload);
  if (stored?.form !== form) return undefined;
  const { number, source, sinceMs, eventSeq, attemptSeq, texts } = stored;
  const text = (place: number | undefined): string => texts[place ?? -1] ?? "";
  const events = rowsOf(stored.events, eventMembers, (at) => ({
    seq: at(0),
    atMs: at(1),
    high: at(2),
    low: at(3),
    tenant: text(at(4)),
    type: text(at(5)),
    producer: text(at(6)),
    about: text(at(7)),
  }));
  const attempts = rowsOf(stored.attempts, attemptMembers, (at) => ({
    high: at(0),
    low: at(1),
    kind: rowKinds[at(2)] ?? "retry",
    status: at(3),
    atMs: at(4),
    durationMs: at(5),
    generation: at(6),
    attempt: at(7),
    tenant: text(at(8)),
    partner: text(at(9)),
    reason: text(at(10)),
  }));
  return { number, source, sinceMs, eventSeq, attemptSeq, events, attempts };
}

function rowsOf<Row>(
  numbers: readonly number[],
  members: number,
  rowOf: (at: (member: number) => number) => Row,
): readonly Row[] {
  const rows: Row[] = [];
  for (let start = 0; start + members <= numbers.length; start += members)
    rows.push(rowOf((member) => numbers[start + member] ?? 0));
  return rows;
}

function parse(payload: Uint8Array): StoredForm | undefined {
  try {
    return JSON.parse(inflateRawSync(payload, { maxOutputLength: textBytesMax }).toString()) as StoredForm;
  } catch {
    return undefined;
  }
}

/** The key of an event by the hash in its subjects. */
export function eventKeyOf(idhash: string): EventKey {
  const bytes = Buffer.from(idhash, "base64url");
  return bytes.length < keyBytes ? { high: 0, low: 0 } : { high: bytes.readUInt32BE(0), low: bytes.readUInt32BE(4) };
}
