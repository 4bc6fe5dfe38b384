import type { NatsConnectionHandle } from "../connection/connect.ts";
import { encodeHeaders, type HeaderFields } from "./headers.ts";

/** One message for a stream. */
interface Publication {
  readonly subject: string;
  readonly payload: Uint8Array | string;
  readonly headers?: HeaderFields;
}

/**
 * Outcome of a publish.
 * - `stored`: the message is in the stream.
 * - `duplicate`: a message with this id was in the stream within the duplicate window; it may be gone by now.
 * - `unexpected`: the last message of the expected subject differs from the stated one.
 * - `refused`: not stored, for example because the stream is full.
 */
export type PublishResult =
  | { readonly kind: "stored"; readonly seq: number }
  | { readonly kind: "duplicate"; readonly seq: number }
  | { readonly kind: "unexpected" }
  | { readonly kind: "rejected"; readonly code: number; readonly detail: string };

/** Headers that JetStream interprets. */
export const publishHeader = {
  messageId: "Nats-Msg-Id",
  expectedSubjectSequence: "Nats-Expected-Last-Subject-Sequence",
  expectedSubject: "Nats-Expected-Last-Subject-Sequence-Subject",
  schedule: "Nats-Schedule",
  scheduleTarget: "Nats-Schedule-Target",
  /** Lifetime of the message, such as `60s`; the stream has to allow it. */
  ttl: "Nats-TTL",
} as const;

/** `wrong last sequence`, with and without the number. Source: nats-server `errors.json`. */
const wrongSequenceCodes: ReadonlySet<number> = new Set([10071, 10164]);

/**
 * Publishes once.
 *
 * @throws NoReplyError when the result is unknown
 */
export async function publish(handle: NatsConnectionHandle, message: Publication): Promise<PublishResult> {
  const { subject, payload, headers } = message;
  const options = headers === undefined ? {} : { headers: encodeHeaders(headers) };
  const sentAtMs = handle.leases.nowMs();
  const result = parsePublishResult(await handle.requests.request(subject, payload, options));
  // The server acknowledges what its stream has stored, so JetStream works and has read all earlier messages.
  if (result.kind !== "rejected") handle.leases.confirmStored(sentAtMs);
  return result;
}

interface WireResult {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

function parsePublishResult(payload: Uint8Array): PublishResult {
  const reply = JSON.parse(
    Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString("latin1"),
  ) as WireResult;
  if (reply.error === undefined)
    return { kind: reply.duplicate === true ? "duplicate" : "stored", seq: reply.seq ?? 0 };
  const { err_code: code = 0, description: detail = "" } = reply.error;
  return wrongSequenceCodes.has(code) ? { kind: "unexpected" } : { kind: "rejected", code, detail };
}
