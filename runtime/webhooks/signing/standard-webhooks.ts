import { createHmac, timingSafeEqual } from "node:crypto";
import {
  isSignedBy,
  signBytes,
  publicKeysAt,
  sharedKeysAt,
  type HmacKey,
  type SigningKey,
  type VerificationKey,
} from "./keys.ts";
import {
  fault,
  signaturesMax,
  singleHeader,
  timeFault,
  type IncomingRequest,
  type VerificationResult,
} from "./verification-result.ts";

/**
 * The parts of a request that a Standard Webhooks signature covers. Source: Standard Webhooks 1.0.0, "Signature
 * scheme".
 */
interface StandardParts {
  /** `webhook-id`. */
  readonly id: string;
  /** `webhook-timestamp`, Unix seconds. */
  readonly timestamp: string;
  readonly body: Uint8Array;
}

const secondMs = 1_000;
const timestampForm = /^\d{1,12}$/u;
const signatureForm = /^(?:v1,[A-Za-z0-9+/]{43}=|v1a,[A-Za-z0-9+/]{86}==)$/u;

/**
 * `webhook-id` of an event: its id, with every full stop as `%2E` and every `%` as `%25`. In the signed text, a full
 * stop ends the id. Source: Standard Webhooks 1.0.0, "Signature scheme".
 */
export function webhookId(eventId: string): string {
  return eventId.replaceAll("%", "%25").replaceAll(".", "%2E");
}

/** Builds the headers of an attempt with one signature per key, the newest first. */
export function standardWebhookHeaders(
  keys: readonly SigningKey[],
  { eventId, sentAtMs, body }: { readonly eventId: string; readonly sentAtMs: number; readonly body: Uint8Array },
): Readonly<Record<string, string>> {
  const parts = partsOf(eventId, sentAtMs, body);
  const signed = signedBytes(parts);
  const signatures = keys.map((key) => signatureBy(key, signed));
  return signedHeaders(parts, signatures.join(" "));
}

/** Builds the headers of an attempt again from its signatures, and the text under them. */
export function standardSignedText(
  { eventId, at, body }: { readonly eventId: string; readonly at: string; readonly body: Uint8Array },
  { "webhook-signature": signatures = "" }: Readonly<Record<string, string>>,
): { readonly headers: Readonly<Record<string, string>>; readonly text: Uint8Array } {
  const parts = partsOf(eventId, Date.parse(at), body);
  return { headers: signedHeaders(parts, signatures), text: signedBytes(parts) };
}

function partsOf(eventId: string, sentAtMs: number, body: Uint8Array): StandardParts {
  return { id: webhookId(eventId), timestamp: String(Math.floor(sentAtMs / secondMs)), body };
}

function signedHeaders({ id, timestamp }: StandardParts, signatures: string): Readonly<Record<string, string>> {
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures };
}

/**
 * `v1,` and an HMAC-SHA256, or `v1a,` and an Ed25519 signature, both in base64.
 *
 * @throws TypeError for another algorithm
 */
function signatureBy(key: SigningKey, signed: Uint8Array): string {
  if ("secret" in key) return sharedSignature(key.secret, signed);
  if (key.algorithm !== "ed25519")
    throw new TypeError(`Standard Webhooks does not support ${key.algorithm}; use hmac-sha256 or ed25519`);
  return `v1a,${signBytes(key.privateKey, signed).toString("base64")}`;
}

/** A comma ends each line of a repeated header. Some servers and proxies put no space behind it. */
const entryEnd = /,? |,(?=v\d+[a-z]?,)/u;

/**
 * Verifies a Standard Webhooks request with all keys in force, shared and public. One matching signature among the
 * first eight entries is enough. Source: Standard Webhooks 1.0.0, "Verifying webhook authenticity".
 */
export function verifyStandardWebhooks(
  keys: readonly VerificationKey[],
  request: IncomingRequest,
  nowMs: number,
): VerificationResult {
  const id = singleHeader(request, "webhook-id");
  const signatures = singleHeader(request, "webhook-signature")?.split(entryEnd, signaturesMax);
  const timestamp = singleHeader(request, "webhook-timestamp");
  if (id === undefined || signatures === undefined) return fault("signature_missing");
  if (timestamp === undefined) return fault("timestamp_missing");
  const late = timeFault(timestampMs(timestamp), nowMs);
  if (late !== undefined) return fault(late);
  const known = signatures.map((one) => one.replace(/,$/u, "")).filter((one) => signatureForm.test(one));
  if (known.length === 0 || id.includes(".")) return fault("signature_malformed");
  const keyId = matchingKey(keys, known, signedBytes({ id, timestamp, body: request.body }), nowMs);
  return keyId === undefined ? fault("signature_mismatch") : { ok: true, keyId };
}

function timestampMs(timestamp: string): number {
  return timestampForm.test(timestamp) ? Number(timestamp) * secondMs : Number.NaN;
}

function matchingKey(
  keys: readonly VerificationKey[],
  signatures: readonly string[],
  signed: Uint8Array,
  nowMs: number,
): string | undefined {
  const shared = signatures.filter((one) => one.startsWith("v1,")).map((one) => Buffer.from(one));
  const asymmetric = signatures
    .filter((one) => one.startsWith("v1a,"))
    .map((one) => Buffer.from(one.slice(4), "base64"));
  const sharedKey = sharedKeysAt(keys, nowMs).filter(({ secret }) => {
    const expected = Buffer.from(sharedSignature(secret, signed));
    return shared.filter((one) => timingSafeEqual(one, expected)).length > 0;
  })[0];
  const publicKey = publicKeysAt(keys, nowMs).find(
    (key) =>
      key.publicKey.asymmetricKeyType === "ed25519" && asymmetric.some((one) => isSignedBy(key.publicKey, signed, one)),
  );
  return (sharedKey ?? publicKey)?.id;
}

function sharedSignature(secret: HmacKey, signed: Uint8Array): string {
  return `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`;
}

function signedBytes({ id, timestamp, body }: StandardParts): Uint8Array {
  return Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
}
