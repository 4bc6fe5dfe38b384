import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { sharedKeysAt, type HmacKey, type SigningKey, type VerificationKey } from "./keys.ts";
import { fault, signaturesMax, timeFault, type VerificationResult } from "./verification-result.ts";

/** What a HmacV1 signature covers. Source: seed "Webhook Event Delivery" §5. */
interface SignedParts {
  /** Exactly the text of `X-Timestamp`. */
  readonly timestamp: string;
  readonly method: string;
  /** Request target without query, byte for byte. */
  readonly path: string;
  readonly body: Uint8Array;
}

/** A received request. */
export interface ReceivedParts {
  /** `X-Signature`; undefined when absent. */
  readonly signature: string | undefined;
  /** `X-Timestamp`; undefined when absent. */
  readonly timestamp: string | undefined;
  readonly method: string;
  /** Request target without query, byte for byte. */
  readonly path: string;
  readonly body: Uint8Array;
}

const versionPrefix = "v1=";
const separator = ",";
const timestampForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/u;
/** Characters of a time up to its seconds. */
const secondCharacters = 19;
/** 32 bytes in base64 with padding. */
const signatureForm = /^v1=[A-Za-z0-9+/]{43}=$/u;

/**
 * Builds the signed text: timestamp, method, path and the lowercase hex SHA-256 of the body. Line feeds join the parts;
 * none is at the end. Source: seed "Webhook Event Delivery" §5.
 */
export function canonicalString(parts: SignedParts): string {
  return [parts.timestamp, parts.method.toUpperCase(), parts.path, hash("sha256", parts.body, "hex")].join("\n");
}

/** Builds one signature: `v1=` and the base64 of HMAC-SHA256 over {@link canonicalString}. */
export function signHmacV1(secret: HmacKey, parts: SignedParts): string {
  return signText(secret, canonicalString(parts));
}

/** Builds the value of `X-Signature`: one signature per key, the newest first, joined by commas. */
export function hmacV1Signatures(keys: readonly SigningKey[], parts: SignedParts): string {
  const text = canonicalString(parts);
  const signatures = keys.map((key) => ("secret" in key ? [signText(key.secret, text)] : []));
  return signatures.flat().join(separator);
}

/** Of RFC 9110 §5.6.3: no other white space surrounds an entry. */
const blanksAround = /^[ \t]+|[ \t]+$/gu;

/**
 * Verifies a HmacV1 request with all keys in force. One matching signature among the first eight entries is enough,
 * whatever the others are. The time window is checked first
 * because that is cheap. The comparison takes the same time for every signature and every key.
 */
export function verifyHmacV1(
  keys: readonly VerificationKey[],
  received: ReceivedParts,
  nowMs: number,
): VerificationResult {
  const { signature, timestamp } = received;
  if (signature === undefined) return fault("signature_missing");
  if (timestamp === undefined) return fault("timestamp_missing");
  const late = timeFault(timestampMs(timestamp), nowMs);
  if (late !== undefined) return fault(late);
  // Entries of later versions and of others are next to those of v1.
  const entries = signature.split(separator, signaturesMax).map((one) => one.replace(blanksAround, ""));
  const given = entries.filter((one) => signatureForm.test(one));
  if (given.length === 0) return fault("signature_malformed");
  const keyId = matchingKey(keys, given, { ...received, timestamp }, nowMs);
  return keyId === undefined ? fault("signature_mismatch") : { ok: true, keyId };
}

function timestampMs(text: string): number {
  const atMs = timestampForm.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse reads 30 February as 2 March and 24:00 as the next day.
  const isWritten =
    !Number.isNaN(atMs) && new Date(atMs).toISOString().slice(0, secondCharacters) === text.slice(0, secondCharacters);
  return isWritten ? atMs : Number.NaN;
}

function matchingKey(
  keys: readonly VerificationKey[],
  signatures: readonly string[],
  parts: SignedParts,
  nowMs: number,
): string | undefined {
  const text = canonicalString(parts);
  // The base64 texts are compared, not their bytes: several texts can decode to the same bytes.
  const given = signatures.map((signature) => Buffer.from(signature));
  const matching = sharedKeysAt(keys, nowMs).filter(({ secret }) => {
    const expected = Buffer.from(signText(secret, text));
    return given.filter((one) => timingSafeEqual(one, expected)).length > 0;
  });
  return matching[0]?.id;
}

function signText(secret: HmacKey, text: string): string {
  return versionPrefix + createHmac("sha256", secret).update(text).digest("base64");
}
