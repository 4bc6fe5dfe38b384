import { hash } from "node:crypto";
import type { AttemptRequest } from "../../../api/histories.ts";
import { eventBytesMax } from "../events/envelope.ts";
import { selectPayload, type PayloadSelection } from "../events/payload-selection.ts";
import { cloudEventContentType, toCloudEvent } from "../events/to-cloud-event.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { sentBytes, type StoredEvent } from "../records/event-record.ts";
import { spliceAttempt } from "../signing/signed-request.ts";

/** An event whose bodies and signed texts are shown. */
export interface ShownEvent extends Pick<StoredEvent, "body"> {
  /** What the caller may not see of it, as selections of the rest. @default all is visible */
  readonly hidden?: PayloadSelection;
}

/** What a caller may see of the body of an attempt. */
export type SentBody = Pick<AttemptRequest, "body" | "body_sha256">;

/** Attempts of an event whose body is built again. Each takes a digest of the event. */
const rebuiltMax = 64;
/** Bytes of all bodies that a history has besides the event. The newest one fits, in any format. */
const bodyBytesMax = 2 * eventBytesMax;

/** The attempts whose bodies and signed texts are built again, the newest first. */
export function rebuiltAttempts(visible: readonly AttemptRecord[]): readonly AttemptRecord[] {
  return visible.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, rebuiltMax);
}

/** The body of an attempt as it was signed; undefined if the caller may not see a part of it. */
export function rebuiltBody(
  event: ShownEvent,
  { number, routedBy, signed }: Pick<AttemptRecord, "number" | "routedBy" | "signed">,
): Uint8Array | undefined {
  const { hidden = [] } = event;
  const sent = sentBytes(event, routedBy);
  if (hidden.length > 0 && selectPayload(sent, hidden) !== sent) return undefined;
  return spliceAttempt(formatted(sent, signed?.headers ?? {}), number);
}

/** The event in the format of the attempt, by the headers that its record keeps. */
function formatted(sent: Uint8Array, headers: Readonly<Record<string, string>>): Uint8Array {
  const { "Content-Type": type, "X-Webhook-Producer": producer = "" } = headers;
  return type === cloudEventContentType ? toCloudEvent(sent, producer) : sent;
}

/**
 * Builds the bodies of the newest attempts again. A body is returned as text if it is not the event that the caller
 * sees with the number of the attempt as its last member.
 *
 * @param visible the attempts that the caller may see
 */
export function sentBodies(event: ShownEvent, visible: readonly AttemptRecord[]): (record: AttemptRecord) => SentBody {
  const { hidden = [] } = event;
  const seen = selectPayload(event.body, hidden);
  const bodies = new Map<AttemptRecord, SentBody>();
  let bytesLeft = bodyBytesMax;
  for (const record of rebuiltAttempts(visible)) {
    // Without a signature the format is not known.
    const body = record.signed === undefined ? undefined : rebuiltBody(event, record);
    if (body === undefined) continue;
    const digest = { body_sha256: hash("sha256", body, "hex") };
    const isEvent = Buffer.from(body).equals(spliceAttempt(seen, record.number));
    const isShown = !isEvent && body.length <= bytesLeft;
    if (isShown) bytesLeft -= body.length;
    bodies.set(record, isShown ? { ...digest, body: Buffer.from(body).toString() } : digest);
  }
  return (record) => bodies.get(record) ?? {};
}
