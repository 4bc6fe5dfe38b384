// The index of events: compact rows of events and attempts for lists and figures. Whatever a caller sees of an event is
// read from the streams of the event itself.

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

/** The key of an event by the hash in its subjects. */
export function eventKeyOf(idhash: string): EventKey {
  const bytes = Buffer.from(idhash, "base64url");
  return bytes.length < keyBytes ? { high: 0, low: 0 } : { high: bytes.readUInt32BE(0), low: bytes.readUInt32BE(4) };
}
