import type { EventHistory } from "../webhooks/event-forms.ts";

const start = '{"event":';

/**
 * The bytes of an event in the response to `GET /webhooks/events/:id`, as its producer sent them. Encoding the parsed
 * event again would change digits and escapes, and with them every signature.
 */
export function rawEventOf(history: Buffer): Uint8Array {
  const { event, ...rest } = JSON.parse(history.toString()) as EventHistory;
  const end = `,${JSON.stringify(rest).slice(1)}`;
  const text = history.toString("latin1");
  const hasForm = text.startsWith(start) && text.endsWith(Buffer.from(end).toString("latin1"));
  return hasForm ? history.subarray(start.length, -Buffer.byteLength(end)) : Buffer.from(JSON.stringify(event));
}
