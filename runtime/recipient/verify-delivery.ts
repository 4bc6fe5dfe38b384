import { verifyHmacV1, type SignatureFault, type VerificationKey } from "../webhooks/signing/hmac-v1.ts";

/** A request as it came in, before anything is believed. */
export interface IncomingDelivery {
  readonly method: string;
  /** Request target as the sender wrote it, with or without its query. */
  readonly target: string;
  /** Lowercase names, as `node:http` gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Exactly the bytes that came in. */
  readonly body: Uint8Array;
}

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

/** Why a delivery is not believed. For logs and metrics, never for the answer (seed §7). */
export type DeliveryFault = SignatureFault | "body_malformed" | "event_id_differs";

export type DeliveryVerdict =
  | { readonly ok: true; readonly keyId: string; readonly event: DeliveredEvent }
  | { readonly ok: false; readonly fault: DeliveryFault };

/**
 * Verifies a delivery: time window, signature by any key in force, then the envelope. The event's id is the body's,
 * which is signed; an `X-Event-Id` that differs is a fault. Source: seed "Webhook Event Delivery" §3 and §5.
 */
export function verifyDelivery(
  delivery: IncomingDelivery,
  keys: readonly VerificationKey[],
  nowMs: number,
): DeliveryVerdict {
  const received = {
    signature: single(delivery, "x-signature"),
    timestamp: single(delivery, "x-timestamp"),
    method: delivery.method,
    path: pathOf(delivery.target),
    body: delivery.body,
  };
  const verdict = verifyHmacV1(keys, received, nowMs);
  if (!verdict.ok) {
    return verdict;
  }
  const event = readEvent(delivery.body);
  if (event === undefined) {
    return { ok: false, fault: "body_malformed" };
  }
  const named = single(delivery, "x-event-id");
  if (named !== undefined && named !== event.event_id) {
    return { ok: false, fault: "event_id_differs" };
  }
  return { ok: true, keyId: verdict.keyId, event };
}

/** A request target without its query. */
export function pathOf(target: string): string {
  return target.split("?", 1)[0] ?? "";
}

/** A header that stands once; a repeated one counts as absent. */
function single({ headers }: IncomingDelivery, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
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
