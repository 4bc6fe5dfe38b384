import { signHmacV1 } from "../../../runtime/webhooks/signing/hmac-v1.ts";
import type { IncomingRequest } from "../../../runtime/webhooks/signing/verification-result.ts";

export const secret = Buffer.from("0123456789abcdef0123456789abcdef");
export const sentAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

export const event = {
  event_id: "evt_1",
  type: "payout.processed",
  version: "2026-01-01",
  ts: "2026-01-02T03:04:05.000Z",
  attempt: 1,
  data: { payout_id: "p-1", status: "ok" },
};

/** A delivery as a sender signs it. `body` is an object or the text itself. */
export function signedDelivery(
  body: object | string = event,
  headers: IncomingRequest["headers"] = {},
  target = "/webhooks/v1/payout",
): IncomingRequest {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const timestamp = new Date(sentAtMs).toISOString();
  const path = target.split("?")[0] ?? "";
  const signature = signHmacV1(secret, { timestamp, method: "POST", path, body: bytes });
  const signed = { "x-signature": signature, "x-timestamp": timestamp, "x-event-id": event.event_id, ...headers };
  return { method: "POST", target, headers: signed, body: bytes };
}
