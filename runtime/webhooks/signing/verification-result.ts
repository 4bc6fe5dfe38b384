/** Why a request is not taken for signed. For logs and metrics, never for the answer (seed §7). */
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

/** What became of the verification of one request. */
export type VerificationResult =
  | { readonly ok: true; readonly keyId: string }
  | { readonly ok: false; readonly fault: SignatureFault };

/** A request as it came in, before anything is believed. */
export interface IncomingRequest {
  readonly method: string;
  /** Request target as the sender wrote it, with or without its query. */
  readonly target: string;
  /** Lowercase names, as `node:http` gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Exactly the bytes that came in. */
  readonly body: Uint8Array;
}

/** Largest difference between the recipient's clock and the time of an attempt, both ways. Source: seed §5 and §8. */
export const signatureWindowMs = 300_000;

/** Signatures of one request that are looked at: one for each key that a partner can have. */
export const signaturesMax = 8;

/** A verdict that does not believe. */
export function fault(name: SignatureFault): VerificationResult {
  return { ok: false, fault: name };
}

/** Judges when an attempt was made; `atMs` is NaN for what is no time. */
export function timeFault(atMs: number, nowMs: number): SignatureFault | undefined {
  if (Number.isNaN(atMs)) {
    return "timestamp_malformed";
  }
  return Math.abs(nowMs - atMs) > signatureWindowMs ? "timestamp_outside_window" : undefined;
}

/** A header that stands once; a repeated one counts as absent. */
export function singleHeader({ headers }: IncomingRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}

/** A request target without its query. */
export function pathOf(target: string): string {
  return target.split("?", 1)[0] ?? "";
}
