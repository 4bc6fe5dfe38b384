import { type SigningScheme, algorithmOf, readSigningKey } from "../../crds/signing-key.ts";
import type { VerificationKey } from "../webhooks/signing/keys.ts";
import { singleHeader, type IncomingRequest, type SignatureFault } from "../webhooks/signing/verification-result.ts";
import { schemes } from "../webhooks/signing/schemes.ts";
import { createPublicKey, createSecretKey, type JsonWebKey } from "node:crypto";

/**
 * The envelope of a verified delivery. Fields beyond these are kept. A CloudEvent has these fields too: `event_id`,
 * `ts` and `producer` are its `id`, `time` and `source`. Source: seed "Webhook Event Delivery" §2.1.
 */
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

/** A sender's notice that an operator handled an event by hand. Source: seed "Webhook Event Delivery" §4.3. */
export interface Acknowledgement {
  readonly event_id: string;
  /** ISO 8601 UTC. */
  readonly handled_at: string;
  readonly note?: string;
}

export type AcknowledgementResult =
  | { readonly ok: true; readonly keyId: string; readonly acknowledgement: Acknowledgement }
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
  const result = schemes[scheme].verify(keys, delivery, nowMs);
  if (!result.ok) return result;
  const event = signedContent(delivery, isEvent);
  return typeof event === "string" ? { ok: false, fault: event } : { ok: true, keyId: result.keyId, event };
}

/**
 * Verifies the request to an ack endpoint, which is signed like a delivery. A delivery is no acknowledgement, since
 * some schemes do not sign the path.
 */
export function verifyAcknowledgement(
  request: IncomingRequest,
  keys: readonly VerificationKey[],
  nowMs: number,
  scheme: SigningScheme = "HmacV1",
): AcknowledgementResult {
  const result = schemes[scheme].verify(keys, request, nowMs);
  if (!result.ok) return result;
  const acknowledgement = signedContent(request, isAcknowledgement);
  return typeof acknowledgement === "string"
    ? { ok: false, fault: acknowledgement }
    : { ok: true, keyId: result.keyId, acknowledgement };
}

/** The content of a signed body, or its fault. */
function signedContent<Content extends { readonly event_id: string }>(
  request: IncomingRequest,
  isContent: (value: unknown) => value is Content,
): Content | DeliveryFault {
  const content = asEnvelope(parseJson(request.body));
  if (!isContent(content)) return "body_malformed";
  const named = singleHeader(request, "x-event-id");
  return named !== undefined && named !== content.event_id ? "event_id_differs" : content;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** Adds the fields of an envelope to a CloudEvent, whose attributes have no `_` in their names. */
function asEnvelope(value: unknown): unknown {
  const fields = fieldsOf(value);
  if (fields.get("specversion") !== "1.0" || fields.has("event_id")) return value;
  const [id, time, source] = ["id", "time", "source"].map((name) => fields.get(name));
  return { ...Object.fromEntries(fields), event_id: id, ts: time, producer: source };
}

function isEvent(value: unknown): value is DeliveredEvent {
  const fields = fieldsOf(value);
  return (
    ["event_id", "type", "version", "ts"].every((name) => isText(fields.get(name))) &&
    Number.isSafeInteger(fields.get("attempt"))
  );
}

function isAcknowledgement(value: unknown): value is Acknowledgement {
  const fields = fieldsOf(value);
  return !fields.has("type") && ["event_id", "handled_at"].every((name) => isText(fields.get(name)));
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === "object" && value !== null ? Object.entries(value) : []);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** Public keys as the sender publishes them. Source: RFC 7517 §5. */
interface KeySet {
  readonly keys: readonly (JsonWebKey & { readonly kid?: string })[];
}

/**
 * Prepares a shared key once, which verifies faster than its bytes.
 * @param id the name of the key in reports
 * @param text the key as the sender gave it; Standard Webhooks may write it as `whsec_…`
 * @throws RangeError for a text that is no shared key of the scheme
 */
export function sharedKey(id: string, text: string, scheme: SigningScheme = "HmacV1"): VerificationKey {
  const read = readSigningKey(scheme, Buffer.from(text));
  if ("secret" in read) return { id, secret: createSecretKey(read.secret) };
  const why = "fault" in read ? read.fault.message : "is a private key, which only the sender has";
  throw new RangeError(`The key ${id} ${why}`);
}

/** Prepares a public key in PEM. @param id for RFC 9421 the `kid` of the sender's key set */
export function publicKey(id: string, pem: string): VerificationKey {
  return { id, publicKey: createPublicKey(pem) };
}

/** The keys of `/webhooks/partners/:namespace/:name/jwks.json`; keys that no scheme supports are left out. */
export function publicKeys({ keys }: KeySet): readonly VerificationKey[] {
  return keys.flatMap((jwk) => {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return jwk.kid === undefined || algorithmOf(key) === undefined ? [] : [{ id: jwk.kid, publicKey: key }];
  });
}
