import type { SigningConfig } from "../../crds/config.ts";
import { signHmacV1, type HmacKey } from "./signing/hmac-v1.ts";

/** One attempt, as its headers tell it. Source: seed "Webhook Event Delivery" §4.1. */
export interface SignedAttempt {
  /** The key that signs. */
  readonly secret: HmacKey;
  readonly url: URL;
  /** Exactly the bytes that are sent. */
  readonly body: Uint8Array;
  readonly eventId: string;
  /** The body's `attempt`; keeps counting across replays. */
  readonly attempt: number;
  /** The envelope's `producer`, else the installation's name. */
  readonly producer: string;
  /** Time of this attempt, corrected to JetStream's clock; Unix milliseconds. */
  readonly sentAtMs: number;
  /** Version of this program, for `User-Agent`. */
  readonly version: string;
  /** Set when the attempt belongs to a replay. */
  readonly replayId?: string;
  /** Fixed headers of the endpoint; they never replace one that is set here. */
  readonly endpointHeaders: Readonly<Record<string, string>>;
}

/** What a signing scheme adds to the headers that every attempt has. */
type SignatureHeaders = (attempt: SignedAttempt, timestamp: string) => Readonly<Record<string, string>>;

/** One row per scheme; another scheme is another row and a file of its own. */
const schemes: Readonly<Record<SigningConfig["scheme"], SignatureHeaders>> = {
  HmacV1: ({ secret, url, body }, timestamp) => ({
    "X-Signature": signHmacV1(secret, { timestamp, method: "POST", path: url.pathname, body }),
  }),
};

/** Every header of one attempt except those of HTTP itself. `X-Timestamp` is ISO 8601 UTC with milliseconds. */
export function deliveryHeaders(scheme: SigningConfig["scheme"], attempt: SignedAttempt): Record<string, string> {
  const timestamp = new Date(attempt.sentAtMs).toISOString();
  const own: Readonly<Record<string, string>> = {
    ...schemes[scheme](attempt, timestamp),
    "X-Timestamp": timestamp,
    "X-Event-Id": attempt.eventId,
    "X-Attempt": String(attempt.attempt),
    "X-Webhook-Producer": attempt.producer,
    ...(attempt.replayId === undefined ? {} : { "X-Webhook-Replay": attempt.replayId }),
    "User-Agent": `Heliograph/${attempt.version}`,
    "Content-Type": "application/json",
    // Nothing is ever decompressed, so nothing compressed is asked for.
    "Accept-Encoding": "identity",
  };
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const fixed = Object.entries(attempt.endpointHeaders).filter(([name]) => !taken.has(name.toLowerCase()));
  return { ...Object.fromEntries(fixed), ...own };
}
