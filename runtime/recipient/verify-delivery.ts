import type { SigningScheme } from "../../crds/signing-key.ts";
import type { VerificationKey } from "../webhooks/signing/keys.ts";
import { singleHeader, type IncomingRequest, type SignatureFault } from "../webhooks/signing/verification-result.ts";
import { schemes } from "../webhooks/signing/schemes.ts";

/** The envelope of a verified delivery. Fields beyond these are kept. Source: seed "Webhook Event Delivery" §2.1. */
export interface DeliveredEvent {
  readonly event_id: string;
  readonly type: string;
  readonly version: string;
  readonly ts: string;
  readonly attempt: number;
  readonly producer?: string;
  readonly tenant?: string;
  readonly data?: object;
}

/** Fault of a delivery. For logs and metrics, never for the response (seed §7). */
export type DeliveryFault = SignatureFault | "body_malformed" | "event_id_differs";

export type DeliveryVerdict =
  | { readonly ok: true; readonly keyId: string; readonly event: DeliveredEvent }
  | { readonly ok: false; readonly fault: DeliveryFault };

/**
 * Verifies a delivery: time window, signature by any current key, then the envelope. The id of the event is the one in
 * the signed body; an `X-Event-Id` that differs is a fault. Source: seed "Webhook Event Delivery" §3 and §5.
 */
export function verifyDelivery(
  delivery: IncomingRequest,
  keys: readonly VerificationKey[],
  nowMs: number,
  scheme: SigningScheme = "HmacV1",
): DeliveryVerdict {
  const verdict = schemes[scheme].verify(keys, delivery, nowMs);
  if (!verdict.ok) {
    return verdict;
  }
  const event = readEvent(delivery.body);
  if (event === undefined) {
    return { ok: false, fault: "body_malformed" };
  }
  const named = singleHeader(delivery, "x-event-id");
  if (named !== undefined && named !== event.event_id) {
    return { ok: false, fault: "event_id_differs" };
  }
  return { ok: true, keyId: verdict.keyId, event };
}

function readEvent(body: Uint8Array): DeliveredEvent | undefined {
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return isEvent(event) ? event : undefined;
  } catch {
    return undefined;
  }
}

const textFields = ["event_id", "type", "version", "ts"] as const;

function isEvent(value: unknown): value is DeliveredEvent {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  const isText = (name: string): boolean => typeof fields.get(name) === "string" && fields.get(name) !== "";
  return textFields.every(isText) && Number.isSafeInteger(fields.get("attempt"));
}
