import type { SigningScheme } from "../../../crds/signing-key.ts";
import { hmacV1Signatures } from "./hmac-v1.ts";
import type { SigningKey } from "./keys.ts";
import { messageSignatureHeaders } from "./message-signature.ts";
import { standardWebhookHeaders } from "./standard-webhooks.ts";

/** One attempt, as its headers tell it. Source: seed "Webhook Event Delivery" §4.1. */
export interface SignedAttempt {
  /** The keys that sign, at least one, the newest first. */
  readonly keys: readonly SigningKey[];
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
  /** W3C trace context of the attempt. */
  readonly traceparent?: string;
  /** Fixed headers of the endpoint; they never replace one that is set here. */
  readonly endpointHeaders: Readonly<Record<string, string>>;
}

type Headers = Readonly<Record<string, string>>;

/** What a signing scheme adds to the headers that every attempt has. */
type SignatureHeaders = (attempt: SignedAttempt, timestamp: string, headers: Headers) => Headers;

const method = "POST";

/** One row per scheme; another scheme is another row and a file of its own. */
const schemes: Readonly<Record<SigningScheme, SignatureHeaders>> = {
  HmacV1: ({ keys, url, body }, timestamp) => ({
    "X-Signature": hmacV1Signatures(keys, { timestamp, method, path: url.pathname, body }),
  }),
  StandardWebhooks: ({ keys, ...attempt }) => standardWebhookHeaders(keys, attempt),
  HttpMessageSignatures: ({ keys, url, body, sentAtMs }, _timestamp, headers) =>
    messageSignatureHeaders(keys, { method, url, headers, body, sentAtMs }),
};

/** Every header of one attempt except those of HTTP itself. `X-Timestamp` is ISO 8601 UTC with milliseconds. */
export function deliveryHeaders(scheme: SigningScheme, attempt: SignedAttempt): Record<string, string> {
  const timestamp = new Date(attempt.sentAtMs).toISOString();
  const unsigned: Headers = {
    "X-Timestamp": timestamp,
    "X-Event-Id": attempt.eventId,
    "X-Attempt": String(attempt.attempt),
    "X-Webhook-Producer": attempt.producer,
    ...(attempt.replayId === undefined ? {} : { "X-Webhook-Replay": attempt.replayId }),
    ...(attempt.traceparent === undefined ? {} : { traceparent: attempt.traceparent }),
    "User-Agent": `Heliograph/${attempt.version}`,
    "Content-Type": "application/json",
    // Nothing is ever decompressed, so nothing compressed is asked for.
    "Accept-Encoding": "identity",
  };
  const own = { ...schemes[scheme](attempt, timestamp, unsigned), ...unsigned };
  const { endpointHeaders } = attempt;
  return Object.keys(endpointHeaders).length === 0 ? own : { ...fixedHeaders(endpointHeaders, own), ...own };
}

/** Those of the endpoint that nothing else is called, in whatever case. */
function fixedHeaders(endpointHeaders: Headers, own: Headers): Headers {
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(endpointHeaders).filter(([name]) => !taken.has(name.toLowerCase())));
}
