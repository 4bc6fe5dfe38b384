/** Why a signature is invalid. For logs and metrics, never for the response (seed §7). */
export type SignatureFault =
  | "signature_missing"
  | "timestamp_missing"
  | "timestamp_malformed"
  | "timestamp_outside_window"
  | "signature_malformed"
  | "signature_mismatch"
  | "digest_missing"
  | "digest_mismatch"
  | "components_missing";

/** Result of the verification of one request. */
export type VerificationResult =
  | { readonly ok: true; readonly keyId: string }
  | { readonly ok: false; readonly fault: SignatureFault };

/** A received request before its verification. */
export interface IncomingRequest {
  readonly method: string;
  /** Request target byte for byte, with or without its query. */
  readonly target: string;
  /** Lowercase names, as `node:http` gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The received bytes. */
  readonly body: Uint8Array;
}

/** Largest difference between the recipient's clock and the time of an attempt, both ways. Source: seed §5 and §8. */
export const signatureWindowMs = 300_000;

/** Signatures of a request that are read: one per key that a partner can have. Further ones are ignored. */
export const signaturesMax = 8;

/** The result of a failed verification. */
export function fault(name: SignatureFault): VerificationResult {
  return { ok: false, fault: name };
}

/** Checks the time of an attempt; `atMs` is NaN for an invalid time. */
export function timeFault(atMs: number, nowMs: number): SignatureFault | undefined {
  if (Number.isNaN(atMs)) return "timestamp_malformed";
  return Math.abs(nowMs - atMs) > signatureWindowMs ? "timestamp_outside_window" : undefined;
}

/** Reads a header that occurs once; a repeated header counts as absent. */
export function singleHeader({ headers }: IncomingRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}

/** Scheme and authority of a target in absolute form, which servers must accept. Source: RFC 9112 §3.2.2. */
const absoluteForm = /^https?:\/\/[^/?]*/iu;

/** The path of a request target, byte for byte. */
export function pathOf(target: string): string {
  const path = target.split("?", 1)[0] ?? "";
  return absoluteForm.test(path) ? path.replace(absoluteForm, "") || "/" : path;
}
