import { createHmac, hash, timingSafeEqual, type KeyObject } from "node:crypto";

/** Bytes of a key, or, for whoever signs often, the key made of them once, which is seven times as quick. */
export type HmacKey = Uint8Array | KeyObject;

/** What a HmacV1 signature covers. Source: seed "Webhook Event Delivery" §5. */
export interface SignedParts {
  /** Exactly the text of `X-Timestamp`. */
  readonly timestamp: string;
  readonly method: string;
  /** Request target without query, exactly as it stands on the wire. */
  readonly path: string;
  readonly body: Uint8Array;
}

/** A key that a recipient accepts. */
export interface VerificationKey {
  readonly id: string;
  readonly secret: HmacKey;
  /** Unix milliseconds after which the key counts no more. @default never */
  readonly notAfterMs?: number;
}

/** Why a request is not taken for signed. For logs and metrics, never for the answer (seed §7). */
export type SignatureFault =
  | "signature_missing"
  | "timestamp_missing"
  | "timestamp_malformed"
  | "timestamp_outside_window"
  | "signature_malformed"
  | "signature_mismatch";

export type SignatureVerdict =
  | { readonly ok: true; readonly keyId: string }
  | { readonly ok: false; readonly fault: SignatureFault };

/** A request as its recipient sees it. */
export interface ReceivedParts {
  /** `X-Signature`; undefined when absent. */
  readonly signature: string | undefined;
  /** `X-Timestamp`; undefined when absent. */
  readonly timestamp: string | undefined;
  readonly method: string;
  /** Request target without query, exactly as the sender wrote it. */
  readonly path: string;
  readonly body: Uint8Array;
}

/** Largest difference between the recipient's clock and `X-Timestamp`, both ways. Source: seed §5 and §8. */
export const signatureWindowMs = 300_000;

const versionPrefix = "v1=";
const timestampForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/u;
/** 32 bytes in base64 with padding. */
const signatureForm = /^v1=[A-Za-z0-9+/]{43}=$/u;

/**
 * The text that is signed: timestamp, method, path and the lowercase hex SHA-256 of the body, joined by line feeds,
 * without one at the end. Source: seed "Webhook Event Delivery" §5.
 */
export function canonicalString(parts: SignedParts): string {
  return [parts.timestamp, parts.method.toUpperCase(), parts.path, hash("sha256", parts.body, "hex")].join("\n");
}

/** Value of `X-Signature`: `v1=` and the base64 of HMAC-SHA256 over {@link canonicalString}. */
export function signHmacV1(secret: HmacKey, parts: SignedParts): string {
  return signText(secret, canonicalString(parts));
}

/**
 * Verifies a HmacV1 request against every key in force, old and new. The window is judged first, since it costs
 * nothing; the comparison takes the same time for every signature and every key.
 */
export function verifyHmacV1(
  keys: readonly VerificationKey[],
  received: ReceivedParts,
  nowMs: number,
): SignatureVerdict {
  const { signature, timestamp } = received;
  if (signature === undefined) {
    return { ok: false, fault: "signature_missing" };
  }
  if (timestamp === undefined) {
    return { ok: false, fault: "timestamp_missing" };
  }
  const fault = timestampFault(timestamp, nowMs);
  if (fault !== undefined) {
    return { ok: false, fault };
  }
  if (!signatureForm.test(signature)) {
    return { ok: false, fault: "signature_malformed" };
  }
  const keyId = matchingKey(keys, signature, { ...received, timestamp }, nowMs);
  return keyId === undefined ? { ok: false, fault: "signature_mismatch" } : { ok: true, keyId };
}

function timestampFault(timestamp: string, nowMs: number): SignatureFault | undefined {
  const atMs = timestampForm.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
  if (Number.isNaN(atMs)) {
    return "timestamp_malformed";
  }
  return Math.abs(nowMs - atMs) > signatureWindowMs ? "timestamp_outside_window" : undefined;
}

function matchingKey(
  keys: readonly VerificationKey[],
  signature: string,
  parts: SignedParts,
  nowMs: number,
): string | undefined {
  const given = Buffer.from(signature);
  const text = canonicalString(parts);
  const inForce = keys.filter(({ notAfterMs }) => notAfterMs === undefined || nowMs <= notAfterMs);
  // Texts, not bytes, are compared: base64 has spare bits that several texts could fill differently.
  const matching = inForce.filter(({ secret }) => timingSafeEqual(given, Buffer.from(signText(secret, text))));
  return matching[0]?.id;
}

function signText(secret: HmacKey, text: string): string {
  return versionPrefix + createHmac("sha256", secret).update(text).digest("base64");
}
